/**
 * Removes unsigned thinking from the history of a messages request. A provider that signs its own thinking refuses it, and
 * would refuse every further request, since the client sends it again each time. Such thinking comes from a translated answer
 * (dialects reference, 8.5), after which the client may have continued with another provider.
 */
import { replaceValue } from "../json/json-edit.ts";
import { scanObject } from "../json/json-scan.ts";
import { readJson, writeJson } from "../json/json-source.ts";
import { listOf, objectOf } from "../json/json-values.ts";

const FORMS: readonly Buffer[] = ['"signature":""', '"signature": ""'].map((text) => Buffer.from(text));

/**
 * Returns whether the body has text that looks like unsigned thinking. No client uses other spacing; a body with it goes to the
 * provider unchanged.
 */
export function mayContainUnsigned(body: Buffer): boolean {
  return FORMS.some((form) => body.includes(form));
}

/** Returns whether the parsed request has unsigned thinking to leave out. */
export function containsUnsigned(request: unknown): boolean {
  return listOf(objectOf(request)?.["messages"]).some((message) => {
    const fields = objectOf(message);
    return fields?.["role"] === "assistant" && listOf(fields["content"]).some(isUnsigned);
  });
}

/**
 * Returns the body without unsigned thinking, or the same buffer if there is none. `body` is a JSON object that `scanObject`
 * found valid. Throws `SyntaxError`.
 */
export function withoutUnsigned(body: Buffer): Buffer {
  const scan = scanObject(body, ["messages"]);
  const member = scan.kind === "object" ? scan.members[0] : undefined;
  if (member === undefined) return body;
  const source = readJson(body.toString("utf8", member.valueStart, member.valueEnd));
  const messages = listOf(source.value);
  const signedMessages: unknown[] = [];
  let isChanged = false;
  for (const message of messages) {
    const fields = objectOf(message);
    const content = listOf(fields?.["content"]);
    const signed = content.filter((block) => !isUnsigned(block));
    if (fields?.["role"] !== "assistant" || signed.length === content.length) {
      signedMessages.push(source.exact(message));
      continue;
    }
    isChanged = true;
    // A turn that has only unsigned thinking is left out.
    if (signed.length > 0) signedMessages.push({ ...fields, content: signed.map((block) => source.exact(block)) });
  }
  return isChanged ? replaceValue(body, member, writeJson(signedMessages)) : body;
}

function isUnsigned(block: unknown): boolean {
  const fields = objectOf(block);
  return fields?.["type"] === "thinking" && fields["signature"] === "";
}
