"use strict";
(() => {
  const problems = JSON.parse(document.getElementById("explorer-data").textContent).problems;
  const find = (name) => document.getElementById("explorer-" + name);
  const slider = find("step"), typed = find("typed"), said = find("said"), chooser = find("problem");
  const ratio = (a, b) => (b === 0 ? 0 : a / b);
  const fBeta = (beta) => ({ tp, fp, fn }) => ratio((1 + beta * beta) * tp, (1 + beta * beta) * tp + beta * beta * fn + fp);
  const recall = ({ tp, fn }) => ratio(tp, tp + fn);
  const specificity = ({ fp, tn }) => ratio(tn, tn + fp);
  const precision = ({ tp, fp }) => ratio(tp, tp + fp);
  const measures = {
    precision, recall, specificity,
    f1: fBeta(1), f2: fBeta(2), "f0.5": fBeta(0.5),
    jaccard: ({ tp, fp, fn }) => ratio(tp, tp + fp + fn),
    accuracy: ({ tp, fp, fn, tn }) => ratio(tp + tn, tp + fp + fn + tn),
    balanced_accuracy: (c) => ratio(recall(c) + specificity(c), (c.tp + c.fn > 0) + (c.tn + c.fp > 0)),
    g_mean: (c) => Math.sqrt(recall(c) * specificity(c)),
    h_mean: (c) => ratio(2 * recall(c) * specificity(c), recall(c) + specificity(c)),
    q_mean: (c) => 1 - Math.sqrt(((1 - recall(c)) ** 2 + (1 - specificity(c)) ** 2) / 2),
    min_rate: (c) => Math.min(recall(c), specificity(c)),
    matthews_corrcoef: ({ tp, fp, fn, tn }) =>
      ratio(tp * tn - fp * fn, Math.sqrt((tp + fp) * (tp + fn)) * Math.sqrt((tn + fp) * (tn + fn))),
    cohen_kappa: ({ tp, fp, fn, tn }) => ratio(2 * (tp * tn - fp * fn), (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)),
    own: (c) => c.own,
  };
  const whole = (count) => count.toLocaleString("en-US", { maximumFractionDigits: 1 });
  const fixed = (value) => (Math.abs(value) < 1e6 ? value.toFixed(3) : String(Number(value.toPrecision(4)))).replace("-", "−");
  const short = (value) => String(Number(value.toPrecision(6)));
  let problem = problems[0], step = problem.start, later = 0;

  function counts(k) {
    const tp = problem.tp[k], fp = problem.fp[k];
    return { tp, fp, fn: problem.pos - tp, tn: problem.neg - fp, own: problem.own[k] };
  }

  // The step for which a number is greatest; of equal ones that with fewest false alarms, which comes last.
  function best(value) {
    let found = -1, most = -Infinity;
    for (let k = problem.t.length - 1; k >= 0; k--) {
      const now = value(counts(k));
      if (now > most) { most = now; found = k; }
    }
    return found;
  }

  function cost({ fp, fn }) {
    return costOf("alarm") * fp + costOf("miss") * fn;
  }

  function costOf(name) {
    const value = find(name).valueAsNumber;
    return value >= 0 ? value : 0;
  }

  function moveMarkers(c) {
    const rate = ratio(c.fp, problem.neg), shown = { pr: [recall(c), c.tp + c.fp ? precision(c) : 1], roc: [rate, recall(c)] };
    shown.measure = [problem.t[step], c.own];
    for (const chart of document.querySelectorAll("[data-problem]:not([hidden]) svg[data-live]")) {
      const [left, top, width, height, x0, x1, y0, y1] = chart.dataset.frame.split(" ").map(Number);
      const part = (v, low, high) => Math.min(Math.max((v - low) / (high - low), 0), 1);
      const [x, y] = shown[chart.dataset.live];
      const at = `translate(${left + width * part(x, x0, x1)} ${top + height * (1 - part(y, y0, y1))})`;
      chart.querySelector(".live").setAttribute("transform", at);
    }
  }

  function say(text) {
    clearTimeout(later);
    later = setTimeout(() => { said.textContent = text; }, 200);
  }

  function show(reason = "") {
    const c = counts(step), threshold = short(problem.t[step]);
    slider.value = step;
    slider.setAttribute("aria-valuetext", `threshold ${threshold}`);
    find("threshold").textContent = threshold;
    typed.value = threshold;
    for (const cell of document.querySelectorAll("[data-count]")) cell.textContent = whole(c[cell.dataset.count]);
    for (const cell of document.querySelectorAll("[data-measure]")) cell.textContent = fixed(measures[cell.dataset.measure](c));
    find("cost").textContent = whole(Number(cost(c).toPrecision(12)));
    moveMarkers(c);
    say(`${reason}At ${threshold}, ${whole(c.tp)} of ${whole(problem.pos)} positives are found, with ${whole(c.fp)} ` +
      `false alarms: precision ${fixed(precision(c))}, recall ${fixed(recall(c))}.`);
  }

  function go(k, reason) {
    step = k;
    show(reason);
  }

  function nearest(threshold) {
    let found = 0;
    problem.t.forEach((t, k) => { if (Math.abs(t - threshold) < Math.abs(problem.t[found] - threshold)) found = k; });
    return found;
  }

  function requirePrecision() {
    const percent = find("precision").valueAsNumber;
    if (!(percent >= 0 && percent <= 100)) return say("Give a precision between 0 and 100 %.");
    const least = percent / 100 - 1e-12;
    const found = best((c) => (c.tp + c.fp > 0 && precision(c) >= least ? c.tp : -Infinity));
    if (found < 0) {
      const most = problem.tp.reduce((max, _, k) => Math.max(max, precision(counts(k))), 0);
      return say(`No threshold has a precision of ${percent} % on these samples; the largest is ${(100 * most).toFixed(1)} %.`);
    }
    go(found, `Most recall with at least ${percent} % precision on these samples. `);
  }

  slider.addEventListener("input", () => go(Number(slider.value)));
  typed.addEventListener("change", () => { if (Number.isFinite(typed.valueAsNumber)) go(nearest(typed.valueAsNumber)); });
  find("reset").addEventListener("click", () => go(problem.start, "The model’s own threshold. "));
  find("most-recall").addEventListener("click", requirePrecision);
  find("precision").addEventListener("input", requirePrecision);
  find("cheapest").addEventListener("click", () => go(best((c) => -cost(c)), "The cheapest threshold. "));
  for (const name of ["alarm", "miss"]) {
    find(name).addEventListener("input", () => go(best((c) => -cost(c)), "The cheapest threshold. "));
  }
  if (chooser) {
    chooser.addEventListener("change", () => {
      problem = problems[Number(chooser.value)];
      slider.max = problem.t.length - 1;
      for (const part of document.querySelectorAll("[data-problem]")) part.hidden = part.dataset.problem !== chooser.value;
      go(problem.start, `${problem.name} vs the rest. `);
    });
  }
})();
