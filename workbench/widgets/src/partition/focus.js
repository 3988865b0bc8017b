// Keeps the focus where controls are made anew.

/** Does `work`, which makes controls anew: the one that had the focus, known by its label, has it afterwards. */
export function keepFocus(root, work) {
  const focused = () => root.getRootNode().activeElement;
  const label = root.contains(focused()) ? focused().getAttribute("aria-label") : null;
  work();
  if (label && !root.contains(focused())) [...root.querySelectorAll("[aria-label]")].find((node) => node.getAttribute("aria-label") === label)?.focus();
}
