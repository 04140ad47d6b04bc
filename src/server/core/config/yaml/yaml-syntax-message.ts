/**
 * Turns errors of the YAML library into our own sentences.
 *
 * The library's messages may quote the document, and with it a credential. So each code has a fixed sentence, and the library's
 * own message is used only for codes known to quote nothing.
 */

import type { ErrorCode, YAMLParseError } from "yaml";

const SENTENCES: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: "YAML aliases (`*name`) are not supported; write the value out",
  BAD_ALIAS: "a text that begins with `*` or `&` must be quoted",
  BAD_COLLECTION_TYPE: "YAML tags are not supported",
  BAD_DIRECTIVE: "YAML directives are not supported; remove the line",
  BAD_DQ_ESCAPE: "a double-quoted text contains an escape that YAML does not know; write `\\\\` for a backslash",
  BAD_INDENT: "wrong indentation",
  BAD_PROP_ORDER: "YAML anchors and tags are not supported",
  BAD_SCALAR_START: "a text that begins with this character must be quoted",
  BLOCK_AS_IMPLICIT_KEY: "a list or an object begins on the line of a key that has a value already",
  BLOCK_IN_FLOW: "an indented list or object is not allowed inside `[ ]` or `{ }`",
  DUPLICATE_KEY: "the key appears here a second time",
  IMPOSSIBLE: "not YAML",
  KEY_OVER_1024_CHARS: "a key may be 1024 characters long at most",
  MISSING_CHAR: "a character is missing",
  MULTILINE_IMPLICIT_KEY: "a key must be on one line; is a `:` or a quote missing?",
  MULTIPLE_ANCHORS: "YAML anchors (`&name`) are not supported",
  MULTIPLE_DOCS: "a second YAML document begins here; a file must contain only one",
  MULTIPLE_TAGS: "YAML tags are not supported",
  NON_STRING_KEY: "a key must be a plain text",
  RESOURCE_EXHAUSTION: "the document is nested too deeply",
  TAB_AS_INDENT: "a tab cannot indent; use spaces",
  TAG_RESOLVE_FAILED: "YAML tags are not supported",
  UNEXPECTED_TOKEN: "this is not allowed here",
};

/** Library messages that quote nothing and say more than our sentence for their code. */
const PLAIN: readonly (readonly [RegExp, string])[] = [
  [/^Missing closing "quote$/, 'a closing `"` is missing'],
  [/^Missing closing 'quote$/, "a closing `'` is missing"],
  [/^Implicit map keys? needs? to be followed by map values?$/, "a `:` and a value must follow the key"],
  [/^Missing , or : between flow map items$/, "a `,` or `:` is missing within `{ }`"],
  [/^Missing , between flow (map|sequence) items$/, "a `,` is missing within `[ ]` or `{ }`"],
  [/^Flow (map|sequence) must end with a [\]}]$/, "a closing `]` or `}` is missing"],
  [
    /^Flow (map|sequence) in block collection must be sufficiently indented/,
    "a closing `]` or `}` is missing, or the text before it is not indented",
  ],
  [
    /^Sequence item without - indicator/,
    "wrong indentation: this is neither within the item above nor one of its own (`- `)",
  ],
  [
    /^All (collection|mapping|sequence) items must start at the same column/,
    "wrong indentation: entries of one list or object must begin in the same column",
  ],
  [
    /^Unexpected flow-map-start at node end/,
    'within `{ }` and `[ ]` a text with a brace in it must stand in quotes, such as "${secret:NAME}"',
  ],
  [
    /^Nested mappings are not allowed in compact mappings/,
    "there is a second `: ` on this line; quote a text that contains one",
  ],
  [/^Comments must be separated/, "a space is missing before `#`"],
];

/** Matches a line that is indented with a space that YAML takes for text, such as the no-break space of a web page. */
const FOREIGN_INDENTATION = /^[ \t]*(?! )([\p{Cf}\p{Zs}])/u;

/** Returns our sentence for the error. `text`: the whole text, in which the error has its position. */
export function syntaxMessage(error: YAMLParseError, text: string): string {
  const foreign = FOREIGN_INDENTATION.exec(text.slice(text.lastIndexOf("\n", error.pos[0] - 1) + 1))?.[1];
  if (foreign !== undefined) {
    const code = foreign.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0");
    return `not valid YAML: the line is indented with U+${code}, which is not a space; use spaces`;
  }
  const plain = PLAIN.find(([pattern]) => pattern.test(error.message));
  return `not valid YAML: ${plain?.[1] ?? SENTENCES[error.code]}`;
}
