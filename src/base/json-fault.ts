/**
 * Checks of untrusted JSON that `JSON.parse` lacks: repeated members of an object (`JSON.parse` keeps the last, another
 * parser may keep the first; RFC 8259 section 4), and deep nesting.
 */

export type JsonFault = { readonly kind: "repeated"; readonly name: string } | { readonly kind: "deep" };

/**
 * Returns the first fault, or `undefined`. `json`: text that `JSON.parse` accepts. One pass without recursion, in
 * linear time and memory.
 */
export function findJsonFault(json: string, maxDepth: number): JsonFault | undefined {
  /** Names seen in each open object; `undefined` for an open list. */
  const open: (Set<string> | undefined)[] = [];
  let text = "";
  for (let at = 0; at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case 0x22: {
        const end = endOfText(json, at);
        text = json.slice(at, end + 1);
        at = end;
        break;
      }
      case 0x3a: {
        // With escape sequences the same name can be written in different ways.
        const name: string = JSON.parse(text);
        const names = open.at(-1);
        if (names?.has(name)) return { kind: "repeated", name };
        names?.add(name);
        break;
      }
      case 0x7b:
      case 0x5b:
        if (open.length === maxDepth) return { kind: "deep" };
        open.push(json.charCodeAt(at) === 0x7b ? new Set() : undefined);
        break;
      case 0x7d:
      case 0x5d:
        open.pop();
        break;
      default:
        break;
    }
  }
  return undefined;
}

/** Returns the index of the closing quote of the string that opens at `from`. */
function endOfText(json: string, from: number): number {
  let at = from + 1;
  for (; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === 0x22) return at;
    if (code === 0x5c) at++;
  }
  return at;
}
