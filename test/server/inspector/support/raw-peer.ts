/** A peer that writes raw gRPC over HTTP/2. */
import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type Settings } from "node:http2";

const PATH = "/envoy.service.ext_proc.v3.ExternalProcessor/Process";

interface RawPeer {
  readonly session: ClientHttp2Session;
  readonly open: (headers?: Readonly<Record<string, string | readonly string[]>>) => ClientHttp2Stream;
  readonly close: () => void;
}

/** `settings` are announced by the peer. */
export function rawPeer(port: number, settings: Settings = {}): RawPeer {
  const session = connect(`http://127.0.0.1:${port}`, {
    maxSessionMemory: 1_000,
    maxSendHeaderBlockLength: 64 << 20,
    settings,
  });
  session.on("error", () => undefined);
  return {
    session,
    open(headers = {}) {
      const stream = session.request({
        ":method": "POST",
        ":path": PATH,
        "content-type": "application/grpc+proto",
        te: "trailers",
        ...headers,
      });
      stream.on("error", () => undefined);
      stream.resume();
      return stream;
    },
    close: () => session.destroy(),
  };
}

/** Frames one message for gRPC. Source: gRPC over HTTP/2, Length-Prefixed-Message. */
export function framed(message: Buffer, header: { readonly length?: number; readonly flag?: number } = {}): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(header.flag ?? 0, 0);
  head.writeUInt32BE(header.length ?? message.length, 1);
  return Buffer.concat([head, message]);
}

/** Returns the status of the stream's end; `undefined` if it was cut off. */
export async function statusOf(stream: ClientHttp2Stream): Promise<string | undefined> {
  let status: string | undefined;
  const readStatus = (headers: Readonly<Record<string, unknown>>): void => {
    const named = headers["grpc-status"];
    if (named !== undefined) status = String(named);
  };
  stream.on("response", readStatus);
  stream.on("trailers", readStatus);
  if (!stream.closed) await once(stream, "close").catch(() => undefined);
  return status;
}

/** Encodes field `number` with a length, as in protobuf. */
export function field(number: number, value: Buffer): Buffer {
  return Buffer.concat([varint((number << 3) | 2), varint(value.length), value]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 0x80)) {
    if (rest < 0x80) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 0x80) | 0x80);
  }
}
