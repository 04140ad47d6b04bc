/**
 * Proves the identity of this process and verifies peers: TLS 1.3 with certificates of an authority that only holders of the
 * cluster secret can derive. Source: cluster reference, section 5.
 *
 * Sessions are never resumed: a resumed session skips the check of the chain, and a changed secret must cut off old peers.
 *
 * While the secret is being changed, a process with both secrets has two authorities and trusts both. A process with one secret
 * does not know whether a peer calls it the current or the previous one. So a dialing process makes two attempts: first with the
 * certificate of its current secret under the usual server name, then with that of its previous (or only) secret under a server
 * name that asks for the peer's previous certificate.
 */

import { constants, type X509Certificate } from "node:crypto";
import {
  type ConnectionOptions,
  checkServerIdentity,
  createSecureContext,
  type SecureContext,
  type TLSSocket,
  type TlsOptions,
} from "node:tls";
import type { ClusterKeys } from "./derived-keys.ts";
import { type Authority, issueLeaf, type Leaf, makeAuthority } from "./node-certificates.ts";
import { PEER_NAME, type Peer, PREVIOUS_PEER_NAME, parseUri, type Subject } from "./subject.ts";

export interface IdentityOptions {
  readonly keys: ClusterKeys;
  /** Keys of the previous secret, while it is being changed. */
  readonly previousKeys?: ClusterKeys;
  readonly subject: Subject;
  /** Returns the current time, in milliseconds since 1970. */
  readonly now?: () => number;
}

/** Certificate and server name to present when dialing. */
export interface DialCredential {
  readonly clusterId: string;
  readonly options: ConnectionOptions;
}

/** Refusal of a certificate that is trusted but not a peer's. Never carries text of the certificate. */
interface PeerRefusal {
  readonly kind: "refused";
  readonly reason: string;
}

export interface Identity {
  readonly subject: Subject;
  /** Cluster ids of the current secret, then of the previous one. */
  readonly clusterIds: readonly string[];
  /** PEM of the authority's certificate; the same secret produces the same bytes. */
  readonly caCertificate: string;
  /** Creation time of the current certificates, in milliseconds since the epoch. */
  readonly issuedAt: number;
  /** Faces in the order in which they are tried. */
  dialCredentials(): readonly DialCredential[];
  serverOptions(): TlsOptions;
  /** Returns the peer that the certificate names. Call it after the handshake. */
  checkPeer(socket: TLSSocket): Peer | PeerRefusal;
  /** Creates new keys and certificates for future connections. */
  refresh(): Promise<void>;
  /** Registers a listener that is called after each `refresh`. Returns a function that removes it. */
  onRefresh(listener: () => void): () => void;
}

/** Certificate with its key and TLS context. */
interface Credential {
  readonly clusterId: string;
  readonly leaf: Leaf;
  readonly context: SecureContext;
}

export async function createIdentity(options: IdentityOptions): Promise<Identity> {
  const { keys, previousKeys, subject, now = Date.now } = options;
  const present = await makeAuthority(keys);
  const previous = previousKeys === undefined ? undefined : await makeAuthority(previousKeys);
  const authorities = previous === undefined ? [present] : [present, previous];
  const trusted = authorities.map(({ pem }) => pem);
  const listeners = new Set<() => void>();

  const issue = async (authority: Authority, at: number): Promise<Credential> => {
    const leaf = await issueLeaf(authority, subject, at);
    const { certificatePem: cert, keyPem: key } = leaf;
    return {
      clusterId: authority.clusterId,
      leaf,
      context: createSecureContext({ ...PROTOCOL, ca: trusted, cert, key }),
    };
  };
  const issueAll = async () => {
    const at = now();
    const first = await issue(present, at);
    const second = previous === undefined ? first : await issue(previous, at);
    return { at, first, second };
  };
  let current = await issueAll();

  return {
    subject,
    clusterIds: authorities.map(({ clusterId }) => clusterId),
    caCertificate: present.pem,
    get issuedAt() {
      return current.at;
    },
    dialCredentials: () => [
      dialCredentialOf(current.first, PEER_NAME),
      dialCredentialOf(current.second, PREVIOUS_PEER_NAME),
    ],
    serverOptions: () => ({
      ...PROTOCOL,
      ca: trusted,
      cert: current.first.leaf.certificatePem,
      key: current.first.leaf.keyPem,
      requestCert: true,
      rejectUnauthorized: true,
      SNICallback: (name, done) => done(null, (name === PREVIOUS_PEER_NAME ? current.second : current.first).context),
    }),
    checkPeer: (socket) => checkPeer(socket, authorities),
    async refresh() {
      current = await issueAll();
      for (const listener of listeners) listener();
    },
    onRefresh(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

const PROTOCOL = { minVersion: "TLSv1.3", secureOptions: constants.SSL_OP_NO_TICKET } as const;

function dialCredentialOf({ clusterId, context }: Credential, servername: string): DialCredential {
  return {
    clusterId,
    options: {
      secureContext: context,
      minVersion: "TLSv1.3",
      servername,
      rejectUnauthorized: true,
      // Every certificate contains `PEER_NAME`, whichever server name was requested.
      checkServerIdentity: (_, certificate) => checkServerIdentity(PEER_NAME, certificate),
    },
  };
}

function checkPeer(socket: TLSSocket, authorities: readonly Authority[]): Peer | PeerRefusal {
  const refuse = (reason: string): PeerRefusal => ({ kind: "refused", reason });
  if (!socket.authorized) return refuse("the certificate is not trusted");
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return refuse("no certificate");
  if (certificate.ca) return refuse("the certificate is an authority's");
  const issuer = authorities.find(({ certificate: authority }) => isIssuedBy(certificate, authority));
  if (issuer === undefined) return refuse("the certificate was issued by another authority");
  const peer = peerNamedBy(certificate);
  if (peer === undefined) return refuse("the certificate names no peer");
  return peer.clusterId === issuer.clusterId ? peer : refuse("the certificate names another cluster");
}

function isIssuedBy(certificate: X509Certificate, authority: X509Certificate): boolean {
  return certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
}

/**
 * Returns the peer that a certificate names. Node.js writes names that contain a comma or a quote as JSON text, so a split cannot
 * be deceived; such a name is never valid here.
 */
function peerNamedBy({ subjectAltName }: X509Certificate): Peer | undefined {
  const uris = (subjectAltName ?? "").split(", ").filter((name) => name.startsWith("URI:"));
  const [uri] = uris;
  return uri === undefined || uris.length !== 1 ? undefined : parseUri(uri.slice("URI:".length));
}
