"""Any classifier made measure-aware by its threshold."""
