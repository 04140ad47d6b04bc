/**
 * Removes reasoning that the gateway sealed from a request to a provider that serves `responses` itself. The provider cannot
 * open it and would refuse every further request, since the client sends it again each time. Source: Responses reference, 5.3.
 */
import { replaceValue } from "../json/json-edit.ts";
import { scanObject } from "../json/json-scan.ts";
import { readJson, writeJson } from "../json/json-source.ts";
import { listOf, objectOf } from "../json/json-values.ts";

const PREFIX = "gwr1.";
const MARK = Buffer.from(`"${PREFIX}`);

/** Returns whether the body may have sealed reasoning; false is certain. */
export function mayContainSealed(body: Buffer): boolean {
  return body.includes(MARK);
}

/**
 * Returns the body without sealed reasoning, or the same buffer if there is none. `body` is a JSON object that `scanObject`
 * found valid. Throws `SyntaxError`.
 */
export function withoutSealed(body: Buffer): Buffer {
  const scan = scanObject(body, ["input"]);
  const member = scan.kind === "object" ? scan.members[0] : undefined;
  if (member === undefined) return body;
  const source = readJson(body.toString("utf8", member.valueStart, member.valueEnd));
  const items = listOf(source.value);
  const unsealed = items.filter((item) => !isSealed(item));
  return unsealed.length === items.length
    ? body
    : replaceValue(
        body,
        member,
        writeJson(unsealed.map((item) => (objectOf(item) === undefined ? item : source.exact(item)))),
      );
}

function isSealed(item: unknown): boolean {
  const { type, encrypted_content: content } = objectOf(item) ?? {};
  return type === "reasoning" && typeof content === "string" && content.startsWith(PREFIX);
}
