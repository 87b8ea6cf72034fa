"""Any classifier that takes sample weights made measure-aware by the prices of the classes."""
