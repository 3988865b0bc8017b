// Which panels are shown, and in which order: the menu, and the placing in one or two columns.
import { button, el } from "../lib/dom.js";

export const ORDER = ["loss", "metrics", "throughput", "gantt", "phases", "traffic", "cache", "staleness", "stragglers", "memory", "log"];
const HEIGHTS = { phases: 3.9, traffic: 2.4, cache: 2.2, staleness: 1.7, stragglers: 1.2, memory: 1.3 }; // about, to fill two columns evenly

/** The order that a person chose, with panels that came since at their usual place. */
export function orderOf(layout, names) {
  const chosen = (layout?.order ?? []).filter((name) => names.includes(name));
  const usual = [...ORDER.filter((name) => names.includes(name)), ...names.filter((name) => !ORDER.includes(name))];
  if (!chosen.length) return [...usual.filter((name) => name !== "log"), ...usual.filter((name) => name === "log")];
  const order = [...chosen];
  for (const [i, name] of usual.entries()) if (!order.includes(name)) order.splice(i ? order.indexOf(usual[i - 1]) + 1 : 0, 0, name);
  return order;
}

/** Whether a panel is shown: as a person chose, else where the run uses what it tells of. */
export const isShown = (layout, name, view) => layout?.shown?.[name] ?? view?.used !== false;

/** Puts panels into the grid: whole and third ones in their order, runs of halves in two columns of about equal height. */
export function place(grid, panels, names, oneColumn) {
  const children = [];
  let halves = [];
  const flush = () => {
    const columns = [{ height: 0, nodes: [] }, { height: 0, nodes: [] }];
    for (const name of halves) {
      const column = columns[columns[1].height < columns[0].height ? 1 : 0];
      column.nodes.push(panels[name].node);
      column.height += HEIGHTS[name] ?? 2;
    }
    if (halves.length) children.push(...columns.map(({ nodes }) => el("div", { class: "db-column" }, nodes)));
    halves = [];
  };
  for (const name of names) {
    if (panels[name].span === 6 && !oneColumn) halves.push(name);
    else { flush(); children.push(panels[name].node); }
  }
  flush();
  grid.replaceChildren(...children);
}

/** The menu: a box for each panel, moved by its two buttons. `change(layout)` tells what was chosen. */
export function panelMenu(change) {
  const list = el("ul", { class: "db-menu-list" });
  const node = el("div", { class: "db-menu", role: "group", "aria-label": "Panels", hidden: true }, list);
  const opener = button("Panels", { label: "Choose and arrange panels", kind: "quiet", onClick: () => open(node.hidden) });
  opener.setAttribute("aria-expanded", "false");
  let order = [];
  let layout = {};
  let signature = "";
  const close = el("div", { class: "db-menu-end" }, button("Usual panels", { label: "Show the usual panels in their usual order", onClick: () => change({}) }), button("Done", { label: "Close the choice of panels", onClick: () => open(false) }));
  node.append(close);
  node.addEventListener("keydown", (event) => event.key === "Escape" && open(false));

  function open(now) {
    node.hidden = !now;
    opener.setAttribute("aria-expanded", String(now));
    if (now) list.querySelector("input")?.focus();
    else opener.focus();
  }

  function move(name, by) {
    const next = [...order];
    const at = next.indexOf(name);
    if (at + by < 0 || at + by >= next.length) return;
    [next[at], next[at + by]] = [next[at + by], next[at]];
    change({ ...layout, order: next });
  }

  return {
    node, opener,
    /** Draw the list anew where names, titles or the choice changed; the focus stays where it was. */
    update(names, titles, shown, chosen) {
      order = names;
      layout = chosen ?? {};
      const now = JSON.stringify([names, names.map((name) => [titles[name], shown[name]])]);
      if (now === signature) return;
      signature = now;
      const focused = list.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
      list.replaceChildren(...names.map((name, i) => el("li", {},
        el("label", {}, el("input", { type: "checkbox", "aria-label": `Panel ${titles[name]}`, checked: shown[name], onchange: (event) => change({ ...layout, shown: { ...layout.shown, [name]: event.target.checked } }) }), titles[name]),
        el("span", {}, button("↑", { label: `Move ${titles[name]} up`, kind: "quiet", disabled: i === 0, onClick: () => move(name, -1) }), button("↓", { label: `Move ${titles[name]} down`, kind: "quiet", disabled: i === names.length - 1, onClick: () => move(name, 1) })))));
      const again = focused && [...list.querySelectorAll("[aria-label]")].find((one) => one.getAttribute("aria-label") === focused);
      if (again) (again.disabled ? again.parentElement.querySelector("button:not(:disabled)") : again)?.focus();
    },
  };
}
