/** Determines how the status and headers of a response change when its body changes. */
import {
  type AnswerType,
  BODY_DIGEST_HEADERS,
  type BodyChange,
  isBodiless,
  typeOf,
  withUtf8Charset,
} from "../../answers/index.ts";
import { layersIn } from "../../coding/index.ts";
import type { HeadChanges, HeaderList } from "../exchange/index.ts";
import { headerValue, headerValues } from "../header-list.ts";

const NO_SETS: ReadonlyMap<string, string> = new Map();
export const UNCHANGED_HEAD: HeadChanges = { drops: [], sets: NO_SETS };

export interface AnswerHead {
  readonly type: AnswerType;
  readonly isEncoded: boolean;
  /** Header changes that are sent before any of the body was read, so they must be correct for any body. */
  readonly early: HeadChanges;
  /** Returns the header changes after the inspection. `acted`: rules that acted, as listed in `x-gateway-guardrails`. */
  readonly changesAfter: (mending: BodyChange, acted: string) => HeadChanges;
}

/** Reads the status and headers of a response. Returns `undefined` if the response has no body. */
export function readHead(method: string, headers: HeaderList): AnswerHead | undefined {
  if (isBodiless(method, Number(headerValue(headers, ":status")))) return undefined;
  const contentType = headerValue(headers, "content-type");
  const isEncoded = layersIn(headerValues(headers, "content-encoding")).length > 0;
  const bodyHeaders = headers.filter((name, at) => at % 2 === 0 && BODY_DIGEST_HEADERS.has(name));
  const decoded = isEncoded ? ["content-encoding"] : [];
  return {
    type: typeOf(contentType),
    isEncoded,
    early: { drops: ["content-length", ...bodyHeaders, ...decoded], sets: NO_SETS },
    changesAfter({ isStream, isRewritten, isDecoded, isTranscoded }, acted) {
      const isBodyChanged = isStream === true || isRewritten === true || isDecoded === true;
      if (!isBodyChanged && acted === "") return UNCHANGED_HEAD;
      const sets = new Map<string, string>();
      if (isTranscoded === true) sets.set("content-type", withUtf8Charset(contentType));
      if (acted !== "") sets.set("x-gateway-guardrails", acted);
      const drops = isBodyChanged ? ["content-length", ...bodyHeaders, ...(isDecoded === true ? decoded : [])] : [];
      return { drops, sets };
    },
  };
}
