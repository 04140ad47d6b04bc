/**
 * Interprets an unsuccessful answer, and whether a retry may help. A hub answers 401 for private repositories, with
 * details in `x-error-code`; other servers have only the status.
 */
import { escapeControls } from "../../../base/index.ts";
import { ModelError, type ModelFault } from "../model-error.ts";
import { type HubAnswer, originAndPath } from "./hub-transport.ts";

const MAX_BODY_BYTES = 4 << 10;
const MAX_MESSAGE_LENGTH = 300;
/** Maximum wait that an answer may ask for: the longest window of a rate limit in use is five minutes. */
const MAX_WAIT_MS = 310_000;

/** Returns the error for an answer. Reads the body up to a limit. `token` never appears in the message. */
export async function readRefusal(answer: HubAnswer, token: string | undefined): Promise<ModelError> {
  const detail = await readErrorMessage(answer, token);
  const { fault, explanation } = interpretRefusal(answer, detail, token !== undefined && !answer.hasLeftOrigin);
  const message = `${originAndPath(answer.url)}: ${explanation}${detail === "" ? "" : ` (${detail})`}`;
  return new ModelError(fault, message, { retryAfterMs: fault === "unreachable" ? retryAfterMs(answer) : undefined });
}

interface Refusal {
  readonly fault: ModelFault;
  readonly explanation: string;
}

const NOT_FOUND_TEXTS: Readonly<Record<string, string>> = {
  RepoNotFound: "there is no such repository",
  RevisionNotFound: "the repository has no such revision",
  EntryNotFound: "the repository has no such file at this revision",
};

function interpretRefusal({ status, headers, hasLeftOrigin }: HubAnswer, message: string, withToken: boolean): Refusal {
  const code = headers["x-error-code"] ?? "";
  const denied = (explanation: string): Refusal => ({ fault: "denied", explanation });
  // A signed address has expired; the next attempt gets a new one.
  if (status === 403 && hasLeftOrigin)
    return { fault: "unreachable", explanation: "status 403 of the host of the content" };
  if (code === "GatedRepo") {
    return denied(
      withToken
        ? "the repository is gated, and the account of the token has no access: ask for it on its page"
        : "the repository is gated: accept its terms on its page, and set `token`",
    );
  }
  if (status === 401 && (/credentials/i.test(message) || (withToken && code === ""))) {
    return denied(withToken ? "the token is refused" : "a token is needed");
  }
  if (status === 401)
    return denied(withToken ? "not found, or the token has no access" : "not found, or it needs a token");
  if (status === 403) return denied("access is refused");
  if (status === 404 || status === 410)
    return { fault: "absent", explanation: NOT_FOUND_TEXTS[code] ?? `status ${status}` };
  if (status === 429) return { fault: "unreachable", explanation: "it limits the rate of requests" };
  if (status === 408 || status >= 500) return { fault: "unreachable", explanation: `status ${status}` };
  return { fault: "refused", explanation: `status ${status}` };
}

async function readErrorMessage({ headers, body }: HubAnswer, token: string | undefined): Promise<string> {
  let text = headers["x-error-message"] ?? "";
  try {
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of body) {
      chunks.push(Buffer.from(chunk));
      length += chunk.length;
      if (length >= MAX_BODY_BYTES) break;
    }
    const parsed: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8").slice(0, MAX_BODY_BYTES));
    if (typeof parsed === "object" && parsed !== null && "error" in parsed && typeof parsed.error === "string") {
      text = parsed.error;
    }
  } catch {
    // The status is enough.
  } finally {
    body.destroy();
  }
  const plain = escapeControls(text).replace(/hf_[A-Za-z0-9]{8,}/g, "…");
  return (token === undefined ? plain : plain.replaceAll(token, "…")).slice(0, MAX_MESSAGE_LENGTH);
}

/** Returns the milliseconds that the answer asks to wait; `undefined` if it does not say. */
function retryAfterMs({ status, headers }: HubAnswer): number | undefined {
  if (status !== 429 && status !== 503) return undefined;
  const rateLimit = /"[a-z]+"\s*;\s*r=(\d+)\s*;\s*t=(\d+)/.exec(headers["ratelimit"] ?? "");
  const rateLimitSeconds = rateLimit?.[1] === "0" ? Number(rateLimit[2]) + 1 : undefined;
  const retryAfterSeconds = /^\d+$/.test(headers["retry-after"] ?? "") ? Number(headers["retry-after"]) : undefined;
  const seconds = rateLimitSeconds ?? retryAfterSeconds;
  return seconds === undefined ? undefined : Math.min(seconds * 1_000, MAX_WAIT_MS);
}
