"""Reports about models: an HTML page with an explorer of thresholds, and displays for notebooks."""
