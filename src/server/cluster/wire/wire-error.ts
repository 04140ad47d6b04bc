/** What a peer sent is not what the protocol allows. The connection it came by is closed; nothing else happens. */
export class WireError extends Error {
  override readonly name = "WireError";
}
