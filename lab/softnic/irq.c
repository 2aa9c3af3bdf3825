// SPDX-License-Identifier: GPL-2.0-only
/*
 * The interrupt of a NAPI, and so of all its queues. As a NIC does, it keeps quiet from the
 * moment it has fired until the driver unmasks it, and the driver does that when NAPI says that
 * it is done (fbnic_poll and fbnic_nv_irq_rearm, meta/fbnic/fbnic_txrx.c; mlx5e_napi_poll and
 * mlx5e_cq_arm, mellanox/mlx5/core/en_txrx.c). NAPI is not done while it is polled by somebody
 * who waits for data, or while the user has interrupts deferred (napi_defer_hard_irqs,
 * prefer-busy-poll, irq-suspend-timeout): then a timer or the next poll comes in place of an
 * interrupt (napi_complete_done, napi_watchdog, busy_poll_stop, net/core/dev.c).
 */
#include <linux/smp.h>

#include "softnic.h"

/* Bits of irq_state. */
enum {
	SN_IRQ_PENDING,		/* on its way to its CPU */
	SN_IRQ_MASKED,
};

/* The interrupt fires, if it may. */
static void irq_fire(struct sn_napi *nv)
{
	struct sn_rxq *rxq = &nv->sn->ch[nv->idx].rx;	/* the first that it is of counts it */

	/* Whoever sets the bit is the only one to count, and others need not schedule. */
	if (test_and_set_bit(SN_IRQ_MASKED, &nv->irq_state))
		return;
	WRITE_ONCE(rxq->interrupts, rxq->interrupts + 1);
	napi_schedule(&nv->napi);
}

/* The handler, on the CPU that the interrupt of the first of its queues is routed to. */
static void irq_handler(void *arg)
{
	struct sn_napi *nv = arg;

	/* Clear first: whoever finds it set knows that the mask is yet to be set. */
	clear_bit(SN_IRQ_PENDING, &nv->irq_state);
	smp_mb__after_atomic();
	irq_fire(nv);
}

/* The hardware has posted something for the queue's driver. Bottom halves are off. */
void sn_raise(struct sn_napi *nv)
{
	int cpu = sn_irq_cpu(nv->idx);

	smp_mb();	/* what was posted before the mask; pairs with sn_irq_unmask() */
	if (test_bit(SN_IRQ_MASKED, &nv->irq_state))
		return;
	if (READ_ONCE(sn_inline)) {
		irq_fire(nv);
		return;
	}
	if (test_and_set_bit(SN_IRQ_PENDING, &nv->irq_state))
		return;
	/* A CPU that is offline (-ENXIO) would never come: as of a NIC's, its interrupts move on. */
	if (smp_call_function_single_async(cpu, &nv->irq))
		irq_handler(nv);
}

void sn_irq_init(struct sn_napi *nv)
{
	INIT_CSD(&nv->irq, irq_handler, nv);
	sn_irq_mask(nv);
}

void sn_irq_mask(struct sn_napi *nv)
{
	set_bit(SN_IRQ_MASKED, &nv->irq_state);
}

/*
 * NAPI is done. What was posted since it looked had no interrupt: as a completion queue
 * does that is armed behind its newest entry, raise one now.
 */
void sn_irq_unmask(struct sn_napi *nv)
{
	unsigned int i;

	clear_bit(SN_IRQ_MASKED, &nv->irq_state);
	smp_mb__after_atomic();	/* the mask before what was posted; pairs with sn_raise() */
	sn_each_channel(nv, i) {
		struct sn_channel *ch = &nv->sn->ch[i];

		if (sn_rx_pending(ch) || sn_tx_pending(ch)) {
			sn_raise(nv);
			return;
		}
	}
}
