/**
 * Checks whether a pipe or socket still has a reader, without writing to it. Source: poll(2). Node.js notices only at the next
 * write, so this calls `poll` through koffi.
 */

/** Values of Linux and macOS. */
const POLLERR = 0x08;
const POLLHUP = 0x10;

/**
 * Returns a function that tells whether the reader of `fd` has closed it. Rejects if koffi cannot be loaded on this system.
 */
export async function openReaderCheck(fd: number): Promise<() => boolean> {
  const { default: koffi } = await import("koffi");
  const poll = koffi.load(null).func("int poll(_Inout_ void *entries, unsigned long count, int timeout)");
  // One `struct pollfd`: the descriptor in 32 bits, then the requested and the returned events in 16 bits each. Errors and
  // hang-ups are returned without being requested.
  const entry = Buffer.alloc(8);
  const [descriptor, events] = [
    new Int32Array(entry.buffer, entry.byteOffset, 1),
    new Uint16Array(entry.buffer, entry.byteOffset, 4),
  ];
  descriptor[0] = fd;
  return () => {
    const count: unknown = poll(entry, 1, 0);
    return typeof count === "number" && count > 0 && ((events[3] ?? 0) & (POLLERR | POLLHUP)) !== 0;
  };
}
