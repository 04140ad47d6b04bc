/** Errors disguised as answers, and unrequested encodings, as providers send them. */
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";

/** Errors sent with status 200, the status they stand for, and their message. */
export const ERRORS: readonly (readonly [string, unknown, number, string])[] = [
  ["an object", { error: { message: "slow down", type: "rate_limit_error", code: null } }, 429, "slow down"],
  ["a string", { error: "model is overloaded" }, 503, "model is overloaded"],
  ["a code number", { error: { message: "no credit", code: 402 } }, 402, "no credit"],
  ["a code number in letters", { error: { message: "no credit", code: "402" } }, 402, "no credit"],
  [
    "a messages error",
    { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
    529,
    "Overloaded",
  ],
  [
    "OpenRouter's metadata",
    {
      error: { message: "Provider returned error", code: 429, metadata: { raw: "x", provider_name: "P" } },
      user_id: "u",
    },
    429,
    "Provider returned error",
  ],
  ["detail", { detail: "Not authenticated" }, 502, "Not authenticated"],
  ["message and status", { message: "gone", status: 503 }, 503, "gone"],
  ["vLLM's object", { object: "error", message: "bad", type: "BadRequestError", code: 400 }, 400, "bad"],
  ["Google's list", [{ error: { code: 503, message: "busy", status: "UNAVAILABLE" } }], 503, "busy"],
  ["within a choice", { choices: [{ error: { code: 502, message: "cut" }, finish_reason: "error" }] }, 502, "cut"],
  ["an unknown one", { error: { message: "strange" } }, 502, "strange"],
];

/** Name of the encoding, value of the header, and encoder. */
export const ENCODINGS: readonly (readonly [string, string, (plain: Buffer) => Buffer])[] = [
  ["gzip", "gzip", gzipSync],
  ["x-gzip in other letters", "X-GZip", gzipSync],
  ["deflate", "deflate", deflateSync],
  ["deflate without its header", "deflate", deflateRawSync],
  ["br", "br", brotliCompressSync],
  ["two of them", "gzip, br", (plain) => brotliCompressSync(gzipSync(plain))],
  ["one that was taken off already", "gzip", (plain) => plain],
  ["gzip called br", "br", gzipSync],
];
