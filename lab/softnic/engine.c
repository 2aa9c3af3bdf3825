// SPDX-License-Identifier: GPL-2.0-only
/*
 * The DMA engine: takes TX descriptors and moves their packets into the peer's
 * receive rings. One thread per device, so that sender's and receiver's CPUs
 * see only what a real NIC leaves to them; or, with inline_dma=1, the sender's own
 * context.
 */
#include <linux/kthread.h>

#include "softnic.h"

#define ENGINE_BATCH 32

/* Read @len bytes from byte @off of the packet on. */
void sn_dma_read(const struct sn_dev *sn, const struct sn_tx_desc *d, u32 off, void *to, u32 len)
{
	int i;

	for (i = 0; i < d->nr && len; i++) {
		u32 n;

		if (off >= d->seg[i].len) {
			off -= d->seg[i].len;
			continue;
		}
		n = min(d->seg[i].len - off, len);
		memcpy(to, phys_to_virt(dma_to_phys(sn->dma, d->seg[i].addr)) + off, n);
		to += n;
		len -= n;
		off = 0;
	}
}

/*
 * Work on one TX queue. Returns whether anything was done; what is left then
 * waits for the peer's receive buffers. Bottom halves are off.
 */
bool sn_engine_run(struct sn_channel *ch)
{
	struct sn_dev *sn = ch->sn;
	struct sn_txq *txq = &ch->tx;
	unsigned int n = 0;

	spin_lock(&txq->lock);
	while (txq->running && n < ENGINE_BATCH && txq->cons != smp_load_acquire(&txq->prod)) {
		struct sn_tx_desc *d = &txq->ring[txq->cons & txq->mask];

		if (!sn_deliver(sn->peer, d)) {
			txq->paused++;
			break;
		}
		txq->packets++;
		txq->bytes += d->len;
		txq->netmem_bytes += d->netmem;
		txq->big_packets += d->len > ETH_HLEN + GSO_LEGACY_MAX_SIZE;
		if (d->mss) {
			txq->gso_packets++;
			txq->gso_wire += DIV_ROUND_UP(d->len - d->hdr_len, d->mss);
		}
		smp_store_release(&txq->cons, txq->cons + 1);
		n++;
	}
	if (n && txq->running)
		sn_raise(ch->nv);
	spin_unlock(&txq->lock);
	return n;
}

/* Whether any queue holds a descriptor. */
static bool engine_pending(struct sn_dev *sn)
{
	unsigned int i;

	for (i = 0; i < sn->netdev->num_tx_queues; i++) {
		struct sn_txq *txq = &sn->ch[i].tx;

		if (READ_ONCE(txq->running) && READ_ONCE(txq->cons) != smp_load_acquire(&txq->prod))
			return true;
	}
	return false;
}

static int engine_thread(void *arg)
{
	struct sn_dev *sn = arg;
	bool worked = false;
	unsigned int i;

	while (!kthread_should_stop()) {
		if (!worked) {
			bool pending;

			set_current_state(TASK_INTERRUPTIBLE);
			WRITE_ONCE(sn->idle, true);
			smp_mb();	/* pairs with sn_engine_kick() */
			pending = engine_pending(sn);
			/* Something is left but could not move: look again in a tick, or when kicked. */
			if (pending && !sn->stalled)
				__set_current_state(TASK_RUNNING);
			else if (!kthread_should_stop())
				schedule_timeout(pending ? 1 : MAX_SCHEDULE_TIMEOUT);
			__set_current_state(TASK_RUNNING);
			WRITE_ONCE(sn->idle, false);
			sn->engine_sleeps++;
		}
		worked = false;
		for (i = 0; i < sn->netdev->num_tx_queues; i++) {
			if (READ_ONCE(sn->ch[i].tx.cons) == READ_ONCE(sn->ch[i].tx.prod))
				continue;
			local_bh_disable();
			worked |= sn_engine_run(&sn->ch[i]);
			local_bh_enable();
			cond_resched();
		}
		WRITE_ONCE(sn->stalled, !worked && engine_pending(sn));
	}
	return 0;
}

/* Tell the engine that there is something to do. */
void sn_engine_kick(struct sn_dev *sn)
{
	smp_mb();	/* the ring before the flag; pairs with engine_thread() */
	if (READ_ONCE(sn->idle) && sn->engine)
		wake_up_process(sn->engine);
}

void sn_engine_set_cpu(struct sn_dev *sn)
{
	int cpu = sn_engine_cpu(sn->port);

	if (sn->engine)
		set_cpus_allowed_ptr(sn->engine, cpu < 0 ? cpu_possible_mask : cpumask_of(cpu));
}

int sn_engine_start(struct sn_dev *sn)
{
	struct task_struct *t = kthread_create(engine_thread, sn, "softnic/%u", sn->port);

	if (IS_ERR(t))
		return PTR_ERR(t);
	sn->engine = t;
	sn_engine_set_cpu(sn);
	wake_up_process(t);
	return 0;
}

static void nothing(void *unused)
{
}

/*
 * The device is unregistered. An interrupt may still be on its way: calls to a
 * CPU are handled in batches, the waited-for ones first, so the second round
 * comes back after every handler of the first round's batch.
 */
void sn_engine_stop(struct sn_dev *sn)
{
	if (sn->engine)
		kthread_stop(sn->engine);
	sn->engine = NULL;
	on_each_cpu(nothing, NULL, 1);
	on_each_cpu(nothing, NULL, 1);
}
