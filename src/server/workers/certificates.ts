/** Sends the data listener's certificate and pending challenges from the node process to a worker. */
import type { Certificate, CertificateStatus, Certificates } from "../tls/index.ts";
import type { Channel } from "./channel/index.ts";

interface CertificateMessage {
  readonly mode: Certificates["mode"];
  readonly current: Certificate | undefined;
  readonly status: CertificateStatus;
}

type Challenge = readonly [host: string, token: string];

/** Timeout of a question about a challenge, in milliseconds. A certificate authority waits longer and retries. */
const CHALLENGE_MS = 2_000;

/** Feeds a worker from the node process. Returns a function that stops it. */
export function feedCertificates(channel: Channel, certificates: Certificates): () => void {
  const sendCertificate = (): void => {
    const { mode } = certificates;
    channel.send("certificate", {
      mode,
      current: certificates.current(),
      status: certificates.status(),
    } satisfies CertificateMessage);
  };
  sendCertificate();
  channel.answer("challenge", (body) => {
    const [host, token] = body as Challenge;
    return certificates.challenge(host, token);
  });
  return certificates.onChange(sendCertificate);
}

/**
 * Follows the node's certificates in a worker. Resolves with the first one. A worker does not store challenges, so it asks the
 * node for each.
 */
export async function followCertificates(channel: Channel): Promise<Certificates> {
  let latest: CertificateMessage | undefined;
  const listeners = new Set<() => void>();
  await new Promise<void>((resolve) =>
    channel.on("certificate", (body) => {
      latest = body as CertificateMessage;
      for (const listener of listeners) listener();
      resolve();
    }),
  );
  const requireLatest = (): CertificateMessage => {
    if (latest === undefined) throw new Error("no certificate was announced");
    return latest;
  };
  return {
    mode: requireLatest().mode,
    current: () => requireLatest().current,
    status: () => requireLatest().status,
    async challenge(host, token) {
      const reply = channel.ask("challenge", [host, token] satisfies Challenge, AbortSignal.timeout(CHALLENGE_MS));
      const answer = await reply.catch(() => undefined);
      return typeof answer === "string" ? answer : undefined;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {},
  };
}
