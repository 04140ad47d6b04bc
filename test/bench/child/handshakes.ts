/**
 * The handshake generator, a process of its own: TLS connections that are closed after the handshake, a few at a time,
 * up to the count. It runs one job at a time, requested over the channel. Every handshake counts: a failed resumption
 * is a failure.
 */

import { connect, type TLSSocket } from "node:tls";
import { endWithParent } from "./channel.ts";

export interface HandshakeJob {
  readonly port: number;
  /** PEM of the root to trust. */
  readonly root: string;
  readonly version: "TLSv1.2" | "TLSv1.3";
  /** Each resumes the session of an earlier connection. */
  readonly isResumed: boolean;
  readonly atOnce: number;
  readonly count: number;
}

export type HandshakeResult =
  | { readonly kind: "done"; readonly seconds: number }
  | { readonly kind: "broken"; readonly reason: string };

const SESSION_TIMEOUT_MS = 10_000;

endWithParent();
process.on("message", (job: HandshakeJob) => {
  void run(job).then(
    (result) => process.send?.(result),
    (error: unknown) =>
      process.send?.({ kind: "broken", reason: error instanceof Error ? error.message : String(error) }),
  );
});

async function run(job: HandshakeJob): Promise<HandshakeResult> {
  const session = job.isResumed ? await sessionOf(job) : undefined;
  const startedAt = performance.now();
  let begun = 0;
  const one = async (): Promise<void> => {
    while (begun < job.count) {
      begun += 1;
      const socket = await opened(job, session);
      const isResumed = socket.isSessionReused();
      await closed(socket);
      if (isResumed !== job.isResumed) throw new Error(`a handshake was ${isResumed ? "" : "not "}resumed`);
    }
  };
  await Promise.all(Array.from({ length: job.atOnce }, one));
  return { kind: "done", seconds: (performance.now() - startedAt) / 1e3 };
}

function opened({ port, root, version }: HandshakeJob, session: Buffer | undefined): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      port,
      host: "127.0.0.1",
      ca: root,
      servername: "localhost",
      minVersion: version,
      maxVersion: version,
      ...(session !== undefined && { session }),
    });
    socket.once("secureConnect", () => resolve(socket));
    socket.once("error", reject);
  });
}

/** TLS 1.3 tickets follow the handshake; unread data would end the connection with a reset. */
function closed(socket: TLSSocket): Promise<void> {
  return new Promise((resolve) => {
    socket.once("close", () => resolve());
    socket.resume().end();
  });
}

async function sessionOf(job: HandshakeJob): Promise<Buffer> {
  const socket = await opened(job, undefined);
  const session = await new Promise<Buffer>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("no session to resume")), SESSION_TIMEOUT_MS);
    const take = (found: Buffer): void => {
      clearTimeout(timer);
      resolve(found);
    };
    const known = job.version === "TLSv1.2" ? socket.getSession() : undefined;
    if (known === undefined) socket.once("session", take);
    else take(known);
  });
  await closed(socket);
  return session;
}
