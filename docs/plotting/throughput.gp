# Median throughput of every cell with its range, from a results folder:
#
#   gnuplot -e "dir='out/quick'; out='throughput.svg'" docs/plotting/throughput.gp
#
# runs.csv has a row per run and host; for statistics count the receiver's rows (sut)
# that are ok and no warm-up. A comma inside quotes is no separator: columns by name
# keep this safe, because all that are used here stand before the free texts.
if (!exists("dir")) dir = "."
if (!exists("out")) out = "throughput.svg"
runs = dir . "/runs.csv"

set datafile separator comma
set terminal svg noenhanced size 900,480 font "sans,12" background "white"
set output out
set ylabel "Gbit/s"
set yrange [0:*]
set key off
set grid ytics
set xtics rotate by -35

good(role, warmup, verdict) = role eq "sut" && warmup eq "false" && verdict eq "ok"
cells = ""
ncells = 0
number(cell) = (p = 0, sum [i=1:ncells] (word(cells, i) eq cell ? (p = i) : 0), p)

# First pass: the cells, in the order of their first run. A cell's name may have
# spaces; gnuplot's word lists may not.
name(s) = (t = s, sum [i=1:20] ((k = strstrt(t, " ")) > 0 ? (t = t[1:k-1] . "_" . t[k+1:*], 0) : 0), t)
see(cell) = (number(cell) > 0 ? 0 : (cells = cells . " " . cell, ncells = ncells + 1))
set table $ignored
plot runs using (good(strcol("role"), strcol("warmup"), strcol("verdict")) ? see(name(strcol("cell_id"))) : NaN):(0)
unset table

# Second pass: every run, and the middle of each cell.
set xtics ()
set for [i=1:ncells] xtics add (word(cells, i) i)
set xrange [0.4:ncells+0.6]
set style boxplot candles range 1.5 outliers pointtype 7
plot for [i=1:ncells] runs using (i):(good(strcol("role"), strcol("warmup"), strcol("verdict")) && name(strcol("cell_id")) eq word(cells, i) ? column("throughput_gbps") : NaN) \
     with boxplot linecolor rgb "#1f6fb2"
