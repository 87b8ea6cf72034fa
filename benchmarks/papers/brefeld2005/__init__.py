"""The experiments of Brefeld and Scheffer (2005): the AUC-maximising support vector machine beside the plain one."""
