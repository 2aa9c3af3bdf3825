// SPDX-License-Identifier: GPL-2.0-only
/* Module: parameters, the card (one platform device) and its two ports. */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <generated/utsrelease.h>

#include "softnic.h"

#ifndef CONFIG_64BIT
#error "softnic reaches all memory through the direct map: 64-bit kernels only"
#endif

static unsigned int queues = 8;
module_param(queues, uint, 0444);
MODULE_PARM_DESC(queues, "most queues per device, 1 to 16 (default 8)");

static unsigned int channels = 4;
module_param(channels, uint, 0444);
MODULE_PARM_DESC(channels, "queues in use at start (default 4)");

static char *imitate = "";
module_param(imitate, charp, 0444);
MODULE_PARM_DESC(imitate, "whose control plane to imitate: mlx5, bnxt, fbnic, gve, virtio-like, idpf, ice, gve-old or bnxt-old (default none)");

bool sn_inline;
module_param_named(inline_dma, sn_inline, bool, 0644);
MODULE_PARM_DESC(inline_dma, "move data in the sender's context instead of by the engine threads (default off)");

unsigned int sn_copybreak;
module_param_named(copybreak, sn_copybreak, uint, 0644);
MODULE_PARM_DESC(copybreak, "leave TCP payload of up to so many bytes in a packet's linear part in spite of header split (default 0)");

module_param_named(burn_ns, sn_burn_ns, uint, 0644);
MODULE_PARM_DESC(burn_ns, "burn so many nanoseconds of CPU time for each packet that a poll takes, at most 1000000 (default 0)");

module_param_named(carrier_ms, sn_carrier_ms, uint, 0644);
MODULE_PARM_DESC(carrier_ms, "gve, idpf: milliseconds until the carrier is back after queues were opened anew (default 100)");

bool sn_no_napi;
module_param_named(no_napi, sn_no_napi, bool, 0644);
MODULE_PARM_DESC(no_napi, "do not tell which NAPI serves queues that are opened from now on (default off)");

unsigned int sn_napis;
module_param_named(napis, sn_napis, uint, 0644);
MODULE_PARM_DESC(napis, "NAPI instances that queues share which are opened from now on, queue i at i % napis (default 0: one each)");

unsigned int sn_unsplit;
module_param_named(unsplit, sn_unsplit, uint, 0644);
MODULE_PARM_DESC(unsplit, "leave headers in front of the payload of every so many TCP packets in spite of header split; with memory of a provider they are lost (default 0: none)");

module_param_named(no_rss, sn_no_rss, bool, 0644);
MODULE_PARM_DESC(no_rss, "gve: a device without the option of RSS: no table and no key (default off)");

module_param_named(rule_busy, sn_rule_busy, uint, 0644);
MODULE_PARM_DESC(rule_busy, "how many times reading a rule back fails with EBUSY from now on (default 0)");

#define SN_PAIRS_MAX 4
#define SN_PORTS_MAX (2 * SN_PAIRS_MAX)

static unsigned int pairs = 1;
module_param(pairs, uint, 0444);
MODULE_PARM_DESC(pairs, "pairs of devices, sn0 with sn1, sn2 with sn3, ..., 1 to 4 (default 1)");

static struct net_device *ports[SN_PORTS_MAX];
static struct platform_device *card;
static DEFINE_MUTEX(param_lock);

static int engine_cpus[SN_PORTS_MAX] = { [0 ... SN_PORTS_MAX - 1] = -1 };
static int irq_cpus[SN_QUEUES_MAX] = { [0 ... SN_QUEUES_MAX - 1] = -1 };

/* A parameter that is a list of CPUs, one per port or queue; -1: any. */
static int cpus_set(const char *val, int *cpus, unsigned int max)
{
	char *buf, *s, *word;
	int new[SN_QUEUES_MAX];
	unsigned int n = 0;
	int err = 0;

	buf = kstrdup(val, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	for (s = strim(buf); !err && (word = strsep(&s, ",")); n++) {
		if (n == max) {
			err = -E2BIG;
			break;
		}
		err = kstrtoint(word, 10, &new[n]);
		if (!err && (new[n] < -1 || new[n] >= (int)nr_cpu_ids))
			err = -ERANGE;
	}
	kfree(buf);
	if (err)
		return err;
	while (n-- > 0)
		WRITE_ONCE(cpus[n], new[n]);
	return 0;
}

static int cpus_get(char *buf, const int *cpus, unsigned int max)
{
	int len = 0;
	unsigned int i;

	for (i = 0; i < max; i++)
		len += sysfs_emit_at(buf, len, "%s%d", i ? "," : "", cpus[i]);
	return len + sysfs_emit_at(buf, len, "\n");
}

static int engine_cpus_set(const char *val, const struct kernel_param *kp)
{
	int i, err = cpus_set(val, engine_cpus, 2 * pairs);

	mutex_lock(&param_lock);
	for (i = 0; !err && i < SN_PORTS_MAX; i++)
		if (ports[i])
			sn_engine_set_cpu(netdev_priv(ports[i]));
	mutex_unlock(&param_lock);
	return err;
}

static int engine_cpus_get(char *buf, const struct kernel_param *kp)
{
	return cpus_get(buf, engine_cpus, 2 * pairs);
}

static const struct kernel_param_ops engine_cpus_ops = { .set = engine_cpus_set, .get = engine_cpus_get };
module_param_cb(engine_cpus, &engine_cpus_ops, NULL, 0644);
MODULE_PARM_DESC(engine_cpus, "CPUs of the engine threads, one of each device, such as 2,3 (default any)");

static int irq_cpus_set(const char *val, const struct kernel_param *kp)
{
	return cpus_set(val, irq_cpus, SN_QUEUES_MAX);
}

static int irq_cpus_get(char *buf, const struct kernel_param *kp)
{
	return cpus_get(buf, irq_cpus, SN_QUEUES_MAX);
}

static const struct kernel_param_ops irq_cpus_ops = { .set = irq_cpus_set, .get = irq_cpus_get };
module_param_cb(irq_cpus, &irq_cpus_ops, NULL, 0644);
MODULE_PARM_DESC(irq_cpus, "CPUs that take the queues' interrupts (default: queue modulo CPUs)");

/* It may be offline, now or a moment later. */
int sn_irq_cpu(unsigned int queue)
{
	int cpu = READ_ONCE(irq_cpus[queue]);

	return cpu < 0 ? queue % num_online_cpus() : cpu;
}

int sn_engine_cpu(unsigned int port)
{
	return READ_ONCE(engine_cpus[port]);
}

/*
 * The hardware writes to the direct map of what a DMA address stands for. That
 * is wrong behind an IOMMU or with bounce buffers: find out before any harm.
 */
static int check_direct(struct device *dev)
{
	struct page *page = alloc_page(GFP_KERNEL);
	dma_addr_t dma;
	int err = 0;

	if (!page)
		return -ENOMEM;
	dma = dma_map_page(dev, page, 0, PAGE_SIZE, DMA_BIDIRECTIONAL);
	if (dma_mapping_error(dev, dma) || dma_to_phys(dev, dma) != page_to_phys(page)) {
		dev_err(dev, "DMA addresses are not physical addresses here (IOMMU or bounce buffers): cannot work\n");
		err = -EOPNOTSUPP;
	}
	if (!dma_mapping_error(dev, dma))
		dma_unmap_page(dev, dma, PAGE_SIZE, DMA_BIDIRECTIONAL);
	__free_page(page);
	return err;
}

static int create_card(void)
{
	int err;

	card = platform_device_register_simple("softnic", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(card))
		return PTR_ERR(card);
	err = dma_coerce_mask_and_coherent(&card->dev, DMA_BIT_MASK(64));
	if (!err)
		err = check_direct(&card->dev);
	if (err)
		platform_device_unregister(card);
	return err;
}

static void destroy_ports(void)
{
	struct net_device *gone[SN_PORTS_MAX];
	int i;

	mutex_lock(&param_lock);
	for (i = 0; i < SN_PORTS_MAX; i++) {
		gone[i] = ports[i];
		ports[i] = NULL;
	}
	mutex_unlock(&param_lock);
	/* Each may still look at the other: take both off the wire first. */
	for (i = 0; i < SN_PORTS_MAX; i++)
		if (gone[i] && gone[i]->reg_state == NETREG_REGISTERED)
			unregister_netdev(gone[i]);
	for (i = 0; i < SN_PORTS_MAX; i++)
		if (gone[i]) {
			cancel_delayed_work_sync(&((struct sn_dev *)netdev_priv(gone[i]))->link_work);
			sn_engine_stop(netdev_priv(gone[i]));
		}
	for (i = 0; i < SN_PORTS_MAX; i++)
		if (gone[i])
			sn_netdev_destroy(gone[i]);
}

static int create_ports(void)
{
	struct sn_dev *sn[SN_PORTS_MAX];
	int i, n = 2 * pairs, err;

	for (i = 0; i < n; i++) {
		ports[i] = sn_netdev_create(&card->dev, i, queues);
		if (IS_ERR(ports[i])) {
			err = PTR_ERR(ports[i]);
			ports[i] = NULL;
			return err;
		}
		sn[i] = netdev_priv(ports[i]);
	}
	for (i = 0; i < n; i++)
		sn[i]->peer = sn[i ^ 1];
	for (i = 0; i < n; i++) {
		err = netif_set_real_num_queues(ports[i], channels, channels);
		if (!err)
			err = sn_engine_start(sn[i]);
		if (!err)
			err = register_netdev(ports[i]);
		if (err)
			return err;
	}
	return 0;
}

static int __init softnic_init(void)
{
	int err;

	if (pairs < 1 || pairs > SN_PAIRS_MAX) {
		pr_err("softnic: pairs=%u must be 1 to %u\n", pairs, SN_PAIRS_MAX);
		return -EINVAL;
	}
	if (queues < 1 || queues > SN_QUEUES_MAX || channels < 1 || channels > queues) {
		pr_err("softnic: queues=%u must be 1 to %u, channels=%u 1 to queues\n", queues, SN_QUEUES_MAX, channels);
		return -EINVAL;
	}
	err = sn_model_parse(imitate);
	if (err) {
		pr_err("softnic: imitate=%s must be mlx5, bnxt, fbnic, gve, virtio-like, idpf, ice, gve-old or bnxt-old\n", imitate);
		return err;
	}
	err = create_card();
	if (err)
		return err;
	err = create_ports();
	if (err) {
		destroy_ports();
		platform_device_unregister(card);
		return err;
	}
	pr_info("softnic: %s to %s, %u of %u queues, %s, built for %s\n", ports[0]->name, ports[2 * pairs - 1]->name,
		channels, queues, sn_inline ? "in-line" : "engine threads", UTS_RELEASE);
	return 0;
}

/*
 * The kernel unmaps the dma-buf of a devmem binding in a work item, which may run when the driver
 * is gone, and holds no reference to the device for that (__net_devmem_dmabuf_binding_free,
 * net/core/devmem.c, seen in 7.2.13). So the device's memory stays: some 2 KiB for each unload.
 */
static void __exit softnic_exit(void)
{
	destroy_ports();
	get_device(&card->dev);
	platform_device_unregister(card);
}

module_init(softnic_init);
module_exit(softnic_exit);
MODULE_AUTHOR("The zcbench authors");
MODULE_DESCRIPTION("A pair of virtual NICs that can do zero-copy receive");
MODULE_LICENSE("GPL");
MODULE_VERSION("1.0 built for " UTS_RELEASE);
MODULE_IMPORT_NS("NETDEV_INTERNAL");
