// Files from the view: bytes that the kernel made, and pictures drawn here.

export function save(name, data, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([data], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const LOOK = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-weight", "font-family", "paint-order"];

/** Copies a picture with the look that it has here: outside of the page there are no style sheets. */
function standing(node) {
  const copy = node.cloneNode(true);
  const [from, to] = [[node, ...node.querySelectorAll("*")], [copy, ...copy.querySelectorAll("*")]];
  from.forEach((one, i) => { const style = getComputedStyle(one); for (const name of LOOK) to[i].style.setProperty(name, style.getPropertyValue(name)); });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return copy;
}

/** Draws pictures beside one another as a PNG of twice their size; resolves to its bytes. */
export async function png(nodes, background) {
  const gap = 24;
  const sizes = nodes.map((node) => [Number(node.getAttribute("width")), Number(node.getAttribute("height"))]);
  const canvas = document.createElement("canvas");
  canvas.width = 2 * (sizes.reduce((sum, [width]) => sum + width + gap, 0) + gap);
  canvas.height = 2 * (Math.max(...sizes.map(([, height]) => height)) + 2 * gap);
  const pen = canvas.getContext("2d");
  pen.fillStyle = background;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  let left = gap;
  for (const [i, node] of nodes.entries()) {
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(standing(node)))}`;
    await image.decode();
    pen.drawImage(image, 2 * left, 2 * gap, 2 * sizes[i][0], 2 * sizes[i][1]);
    left += sizes[i][0] + gap;
  }
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the picture could not be made"))), "image/png"));
}
