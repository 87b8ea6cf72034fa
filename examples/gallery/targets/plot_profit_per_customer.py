"""
Decide by what each customer is worth
=====================================

Calling a customer costs 8; a customer who leaves takes a yearly margin along, and a call keeps 40 % of those who
would have left. Whom to call depends on the probability *and* on the amount. With :class:`~metricwise.Profit` that is
the measure.
"""

# %%
# Customers with amounts that differ widely, as amounts do.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier

from metricwise import PlugInClassifier, Profit

plt.rcParams.update({"font.size": 12, "axes.spines.top": False, "axes.spines.right": False})
random = np.random.default_rng(0)
n = 9000
X = pd.DataFrame({"age": random.normal(size=n), "complaints": random.poisson(0.7, n), "months": random.normal(size=n)})
X["margin"] = np.round(np.exp(random.normal(4, 1, n)), 2)
leaves = (random.random(n) < expit(-3 + 0.5 * X["age"] + 1.1 * X["complaints"] - 0.8 * X["months"])).astype(int)
train, test = slice(0, 4500), slice(4500, None)

# %%
# What each outcome earns, as arithmetic over columns. The other model has one threshold for all customers, that of
# F1.

profit = Profit(tp="-8 - 0.6*margin", fp=-8, fn="-margin", tn=0)
learner = HistGradientBoostingClassifier(max_iter=40, max_depth=3, random_state=0)
by_customer = PlugInClassifier(learner, profit).fit(X[train], leaves[train])
by_f1 = PlugInClassifier(learner, "f1").fit(X[train], leaves[train])


def cost_of(labels):
    """Return what the test customers cost, given who of them is called."""
    margin, y = X["margin"][test], leaves[test]
    return float(np.where(labels == 1, 8 + np.where(y == 1, 0.6 * margin, 0), np.where(y == 1, margin, 0)).sum())


costs = {
    "call nobody": cost_of(np.zeros(4500)),
    "call everybody": cost_of(np.ones(4500)),
    "one threshold for F1": cost_of(by_f1.predict(X[test])),
    "by customer": cost_of(by_customer.predict(X[test])),
}
for name, cost in costs.items():
    print(f"{name:21} cost {cost:10,.0f}")
assert np.isclose(-by_customer.score(X[test], leaves[test]), costs["by customer"])

# %%
# Left: who is called. The line is where the expected gain of a call is its cost. Right: what the decisions cost.

probability, called = by_customer.predict_proba(X[test])[:, 1], by_customer.predict(X[test]) == 1
margin = X["margin"][test]
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 4), layout="constrained", width_ratios=(5, 4))
left.loglog(margin[~called], probability[~called], ".", color="0.75", markersize=3, rasterized=True)
left.loglog(margin[called], probability[called], ".", color="#0b5fc0", markersize=3, rasterized=True)
amounts = np.array([8 / 0.4, 2000])
left.plot(amounts, 8 / (0.4 * amounts), color="0.1")
left.text(700, 0.28, "called", color="#0b5fc0", weight="bold")
left.text(3, 0.011, "not called", color="0.35", weight="bold")
left.set(xlabel="yearly margin", ylabel="probability of leaving", ylim=(0.008, 1.1))
bars = right.barh(list(costs), [cost / 1000 for cost in costs.values()], color=["0.8", "0.8", "#b0500a", "#0b5fc0"])
right.bar_label(bars, fmt="%.0f", padding=4)
right.set(xlabel="cost in thousands", xlim=(0, 1.2 * max(costs.values()) / 1000))
plt.show()

# %%
# Deciding by customer costs less than the threshold for F1, and than either constant decision.

print(f"saved beside the threshold for F1: {1 - costs['by customer'] / costs['one threshold for F1']:.1%}")
assert costs["by customer"] < min(costs["one threshold for F1"], costs["call nobody"], costs["call everybody"])

# %%
# :doc:`/guide/money` has amounts as arrays, constraints beside profit, and measured savings.
