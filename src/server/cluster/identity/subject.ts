/**
 * Whom a certificate names: `gateway://<cluster-id>/node/<node-id>` or `gateway://<cluster-id>/cli/<random>`, its only
 * URI name. Source: cluster reference, section 5.
 */

export interface Subject {
  readonly kind: "node" | "cli";
  /** A node's id, or a random one of a command line. */
  readonly id: string;
}

export interface Peer extends Subject {
  readonly clusterId: string;
}

/** Dialled with this server name, so that addresses need not stand in certificates. */
export const PEER_NAME = "peer.gateway.internal";
/** Asks for the certificate under the previous secret, while the secret is being changed. */
export const PREVIOUS_PEER_NAME = "peer-prev.gateway.internal";

/** As the node file's schema has it: every character may stand in a URI as it is. */
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
