/** Mutated calls of a denied tool, as an attacker would spell them to bypass a rule on its name. */
import type { Recorded } from "../../support/upstream.ts";

/** Returns the name that an attacker who knows the rule would write into the header. */
export function nameIn(body: Buffer): string {
  try {
    const { params } = JSON.parse(body.toString()) as { readonly params?: { readonly name?: unknown } };
    const name = String(params?.name);
    return /^[!-~]+$/.test(name) ? name : `=?base64?${Buffer.from(name).toString("base64")}?=`;
  } catch {
    return "rm";
  }
}

/** Whether the most lenient server could read the denied tool: either of two members with one name, in any case. */
export function namesRm({ body }: Recorded): boolean {
  let isRm = false;
  JSON.parse(body.toString(), (member, value) => {
    const isName = member.normalize("NFKC").toLowerCase().replaceAll("_", "") === "name";
    if (isName && value === "rm") isRm = true;
    return value as unknown;
  });
  return isRm || /"name"\s*:\s*"rm"/.test(body.toString());
}

type Random = () => number;

/** Inserts and drops bytes, duplicates or respells names, and changes the framing. */
export function mutated(body: Buffer, random: Random): Buffer {
  const text = body.toString("latin1");
  const at = random() % (text.length + 1);
  const made = ((): string => {
    switch (random() % 14) {
      case 0:
        return text.slice(0, at) + String.fromCharCode(random() % 256) + text.slice(at);
      case 1:
        return text.slice(0, at) + text.slice(at + 1 + (random() % 4));
      case 2:
        return text.slice(0, at) + ["\t", "\n", " ", "\0", "\u00a0", "/**/"][random() % 6] + text.slice(at);
      case 3:
        return text.replace('"rm"', ['"\\u0072m"', '"r\\u006d"', '"\\u0072\\u006D"'][random() % 3] as string);
      case 4:
        return text.replace(
          '"name":',
          ['"name":"echo","name":', '"\\u006eame":', '"Name":"echo","name":'][random() % 3] ?? "",
        );
      case 5:
        return text.replace('"method":', '"method":"tools/list","method":');
      case 6:
        return text.replace(
          '"params":',
          ['"Params":{},"params":', '"params":{"name":"echo"},"params":'][random() % 2] ?? "",
        );
      case 7:
        return `[${text}]`;
      case 8:
        return text + text;
      case 9:
        return text.replace(/.(?=[^a-z]*$)/, (last) => last.toUpperCase());
      case 10:
        return text.replace('"id":7', ['"id":null', '"id":7.5', '"ID":7', '"id":"7"'][random() % 4] as string);
      case 11:
      case 12: {
        const within = text.indexOf('"rm"') + 1 + (random() % 3);
        const piece = ["\0", "\u00c2\u00ad", "m", " ", "\\u200b", "\\ud83d", "\\"][random() % 7] as string;
        return text.slice(0, within) + piece + text.slice(within);
      }
      default:
        return ["\xef\xbb\xbf", "\xff\xfe", ""][random() % 3] + text;
    }
  })();
  return Buffer.from(made, "latin1");
}

/** Linear congruential generator, modulus 2^32, of which the high bits are used. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state >>> 8;
  };
}
