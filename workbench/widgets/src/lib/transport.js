// The other half of transport.py: JSON with arrays left out, and the arrays beside it as binary buffers.

const ARRAYS = {
  float64: Float64Array, float32: Float32Array, int32: Int32Array, uint32: Uint32Array,
  int16: Int16Array, uint16: Uint16Array, int8: Int8Array, uint8: Uint8Array,
};

/** Copies a buffer (ArrayBuffer or DataView) into a typed array; buffers may be unaligned, hence the copy. */
export function typedArray(buffer, dtype) {
  const Type = ARRAYS[dtype];
  if (!Type) throw new Error(`no array type ${dtype}`);
  if (buffer instanceof ArrayBuffer) return new Type(buffer.slice(0));
  return new Type(buffer.buffer.slice(buffer.byteOffset, buffer.byteOffset + buffer.byteLength));
}

/** Returns `content` with every {$array, dtype, shape} replaced by its typed array (`.shape` is set on it). */
export function decode(content, buffers) {
  if (Array.isArray(content)) return content.map((item) => decode(item, buffers));
  if (content === null || typeof content !== "object") return content;
  if ("$array" in content) {
    const array = typedArray(buffers[content.$array], content.dtype);
    array.shape = content.shape;
    return array;
  }
  return Object.fromEntries(Object.entries(content).map(([key, value]) => [key, decode(value, buffers)]));
}
