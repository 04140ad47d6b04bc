/**
 * What `JSON.parse` lets pass and a reader of strangers' JSON must not: a member twice in one object, of which it keeps the
 * last where another reader of the same text may keep the first (RFC 8259 section 4), and nesting without a bound.
 */

export type JsonFault = { readonly kind: "repeated"; readonly name: string } | { readonly kind: "deep" };

/** `json`: a text that `JSON.parse` takes. In one pass over it, without recursion; time and memory are linear. */
export function jsonFault(json: string, maxDepth: number): JsonFault | undefined {
  /** Names seen in each object that is open; undefined stands for a list. */
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
        // An escape may spell the same name in another way.
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

/** Of the quote that closes the text whose opening one stands at `from`. */
function endOfText(json: string, from: number): number {
  let at = from + 1;
  for (; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === 0x22) return at;
    if (code === 0x5c) at++;
  }
  return at;
}
