/**
 * A client that connects to a cluster listener from outside, with raw bytes or with a chosen certificate and hello.
 * Each call waits until the other side closes the connection.
 */
import { connect as connectPlain } from "node:net";
import { connect as connectTls } from "node:tls";
import { createIdentity, deriveKeys } from "../../../../src/server/cluster/identity/index.ts";
import { createFrameDecoder, encodeFrame, encodeJson, KIND } from "../../../../src/server/cluster/wire/index.ts";
import { within } from "../../support/wait.ts";

const CLOSED_MS = 15_000;

interface Place {
  readonly host: string;
  readonly port: number;
}

function placeOf(address: string): Place {
  const at = address.lastIndexOf(":");
  return { host: address.slice(0, at), port: Number(address.slice(at + 1)) };
}

/** Sends bytes over plain TCP; resolves with the number of answered bytes when the other side has closed. */
export async function sendBytes(address: string, bytes: Uint8Array): Promise<number> {
  const socket = connectPlain(placeOf(address));
  let answered = 0;
  const closed = new Promise<void>((resolve) => {
    socket.on("data", (piece) => {
      answered += piece.length;
    });
    socket.on("error", () => undefined);
    socket.on("close", () => resolve());
  });
  socket.write(bytes);
  await within(`${address} closes a connection`, closed, CLOSED_MS).finally(() => socket.destroy());
  return answered;
}

interface Caller {
  readonly secret: string;
  readonly nodeId: string;
  /** Changes to a valid hello. */
  readonly hello?: Readonly<Record<string, unknown>>;
  readonly purpose: "raft" | "forward";
}

interface Met {
  /** Code of the refusal, if any. */
  readonly refusal: string | undefined;
  readonly isWelcome: boolean;
}

/** Sends hello as a node and then `then`; resolves when the other side has closed. */
export async function callOn(address: string, caller: Caller, then: Uint8Array = new Uint8Array(0)): Promise<Met> {
  const keys = await deriveKeys(caller.secret);
  const identity = await createIdentity({ keys, subject: { kind: "node", id: caller.nodeId } });
  const face = identity.dialCredentials()[0];
  if (face === undefined) throw new Error("the identity has no certificate");
  const socket = connectTls({ ...face.options, ...placeOf(address) });
  let refusal: string | undefined;
  let isWelcome = false;
  const decoder = createFrameDecoder();
  const closed = new Promise<void>((resolve) => {
    socket.on("data", (piece: Buffer) => {
      for (const { kind, payload } of decoder.push(piece)) {
        if (kind === KIND.helloRefused) refusal = String(codeIn(payload));
        if (kind !== KIND.helloOk) continue;
        isWelcome = true;
        socket.write(then);
      }
    });
    socket.on("error", () => undefined);
    socket.on("close", () => resolve());
  });
  socket.once("secureConnect", () => {
    const hello = {
      v: 1,
      cluster: keys.clusterId,
      node: caller.nodeId,
      storage: "0".repeat(32),
      proto: [1, 1],
      feat: 0,
      purpose: caller.purpose,
      ...caller.hello,
    };
    socket.write(encodeFrame({ kind: KIND.hello }, encodeJson(hello)));
  });
  await within(`${address} closes a connection`, closed, CLOSED_MS).finally(() => socket.destroy());
  return { refusal, isWelcome };
}

function codeIn(payload: Uint8Array): unknown {
  const value: unknown = JSON.parse(Buffer.from(payload).toString("utf8"));
  return typeof value === "object" && value !== null && "code" in value ? value.code : undefined;
}

/** The head of a frame that announces more than the maximum length. */
export function oversizedFrame(): Uint8Array {
  const head = Buffer.alloc(16);
  head.writeUInt32BE(0x7fff_ffff, 0);
  head.writeUInt8(1, 4);
  head.writeUInt8(KIND.raft, 5);
  return head;
}
