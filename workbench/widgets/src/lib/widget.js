// One function that turns a widget's drawing into an anywidget module, with what all of them need around it.
import { connectionOf, openConnection } from "./connection.js";
import { el, errorBox } from "./dom.js";
import theme from "./theme.css";

/**
 * @param css   text of the widget's own style sheet
 * @param label accessible name of the widget
 * @param build called once a view: build({root, connection, width, guard}) -> {update(snapshot), delta?(body), resize?(width), destroy?()}
 *
 * `update` is called with the snapshot at the start and whenever the whole state came; `delta` with each change;
 * both are followed by `draw?()` at most once a frame. Whatever throws is shown inside the widget.
 * The root carries data-state (running, stale, disconnected) and data-seq for tests and styles.
 */
export function defineWidget({ css = "", label, build }) {
  return { initialize: ({ model }) => openConnection(model), render: ({ model, el: host }) => mount({ model, host, css, label, build }) };
}

// data-lm-suppress-shortcuts: keys typed here are ours, not shortcuts of the notebook around.
function mount({ model, host, css, label, build }) {
  const connection = connectionOf(model);
  const body = el("div", { class: "wb-body" });
  const trouble = el("div", { class: "wb-trouble" });
  const notice = el("p", { class: "wb-notice", role: "status" });
  const root = el("section", { class: "wb", "aria-label": label, "data-state": connection.state, "data-lm-suppress-shortcuts": "true" }, el("style", {}, theme + css), notice, trouble, body);
  host.append(root);
  const width = () => Math.floor(body.getBoundingClientRect().width) || 960;
  let view = null;
  const guard = (work) => {
    try {
      work();
      trouble.replaceChildren();
    } catch (error) {
      console.warn(error);
      trouble.replaceChildren(errorBox(`The picture could not be drawn: ${error.message}`));
    }
  };
  let frame = 0;
  const draw = () => { frame ||= requestAnimationFrame(() => { frame = 0; guard(() => view?.draw?.()); root.dataset.seq = connection.seq; }); };
  const showState = () => {
    root.dataset.state = connection.state;
    notice.textContent = stateText(connection);
    notice.hidden = !notice.textContent;
    view?.state?.(connection.state);
  };
  connection.views += 1;
  guard(() => { view = build({ root: body, connection, width: width(), guard }); view.update?.(connection.snapshot); });
  const ends = [
    connection.onSnapshot((snapshot) => { guard(() => view?.update?.(snapshot)); draw(); }),
    connection.onDelta((change) => { guard(() => view?.delta?.(change)); draw(); }),
    connection.onState(showState),
  ];
  connection.refresh();
  let drawn = 0;
  const observer = new ResizeObserver(() => {
    const now = width();
    if (now !== drawn && body.offsetParent !== null) { drawn = now; guard(() => view?.resize?.(now)); draw(); }
  });
  observer.observe(body);
  const clock = setInterval(() => connection.state !== "running" && showState(), 1000);
  showState();
  draw();
  return () => {
    connection.views -= 1;
    clearInterval(clock);
    cancelAnimationFrame(frame);
    observer.disconnect();
    ends.forEach((end) => end());
    view?.destroy?.();
  };
}

function stateText(connection) {
  if (connection.state === "disconnected") return "The kernel was restarted or is gone: this is the last picture. Run the cell again.";
  if (connection.state === "stale") return `No word from the kernel for ${Math.round(connection.silentS)} s: this picture may be old.`;
  return "";
}
