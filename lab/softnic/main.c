// SPDX-License-Identifier: GPL-2.0
#include <linux/module.h>
#include "softnic.h"

static int __init softnic_init(void)
{
	return 0;
}

static void __exit softnic_exit(void)
{
}

module_init(softnic_init);
module_exit(softnic_exit);
MODULE_DESCRIPTION("A pair of virtual NICs that can do zero-copy receive");
MODULE_LICENSE("GPL");
