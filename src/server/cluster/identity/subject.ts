/**
 * Subject of a certificate: `gateway://<cluster-id>/node/<node-id>` or `gateway://<cluster-id>/cli/<random>`, its only URI
 * name. Source: cluster reference, section 5.
 */

export interface Subject {
  readonly kind: "node" | "cli";
  /** Id of the node; random for a command line. */
  readonly id: string;
}

export interface Peer extends Subject {
  readonly clusterId: string;
}

/** Server name used when dialing, so that certificates need not contain addresses. */
export const PEER_NAME = "peer.gateway.internal";
/** Server name that asks for the certificate of the previous secret, while the secret is being changed. */
export const PREVIOUS_PEER_NAME = "peer-prev.gateway.internal";

/** Form of a URI. It matches the node file's schema: no character of an id needs escaping. */
const URI = /^gateway:\/\/([0-9a-f]{16})\/(node|cli)\/([A-Za-z0-9][A-Za-z0-9._-]{0,127})$/;

export function uriOf({ clusterId, kind, id }: Peer): string {
  const uri = `gateway://${clusterId}/${kind}/${id}`;
  if (!URI.test(uri)) throw new RangeError(`${JSON.stringify(id)} cannot be named by a certificate`);
  return uri;
}

export function parseUri(uri: string): Peer | undefined {
  const [, clusterId, kind, id] = URI.exec(uri) ?? [];
  if (clusterId === undefined || id === undefined || (kind !== "node" && kind !== "cli")) return undefined;
  return { kind, id, clusterId };
}
