/** The dialog that deletes sealed secrets: one is confirmed by its name, several by their number. */

import { escapeControls } from "../../base/index.ts";
import { namesInWords } from "../format/names.ts";
import { plural } from "../format/numbers.ts";
import { actionOf } from "../model/action.ts";
import { type Data, rowsOf } from "../model/data.ts";
import type { Dialog } from "../model/dialog.ts";
import { line } from "../model/text.ts";
import { onNodes } from "./suspension-words.ts";

/** `names`: one at least. */
export function secretsRemovalDialog(names: readonly string[]): Dialog {
  const [name = ""] = names;
  const isOne = names.length === 1;
  const reference = isOne ? `\${secret:${escapeControls(name)}}` : "one of them";
  return {
    title: isOne ? `Delete secret ${escapeControls(name)}` : `Delete ${plural(names.length, "secret")}`,
    isDangerous: true,
    fields: [],
    lines: (_, { data }) => [
      ["Effect", line(`the sealed ${isOne ? "value is" : "values are"} gone ${onNodes(data)}. Cannot be undone`)],
      ...(isOne ? [] : [["Secrets", line(namesInWords(names))] as const]),
      [
        "Then",
        line(
          `a configuration that names ${reference} compiles no more: nodes keep what they serve, and one that restarts serves nothing until it is put again`,
          "warn",
        ),
      ],
    ],
    confirm: isOne
      ? { kind: "typed", does: "delete", label: "type the name of the secret", expected: () => name }
      : { kind: "typed", does: "delete", label: "type the number of secrets", expected: () => String(names.length) },
    why: (_, { data }) => whySecretsGone(names, data),
    deed: () => ({
      kind: "actions",
      actions: names.map((it) =>
        actionOf("delete_secret", { params: { name: it } }, () => ({ words: `secret ${escapeControls(it)} deleted` })),
      ),
    }),
  };
}

export function whySecretsGone(names: readonly string[], data: Data): string | undefined {
  if (data.get({ id: "list_secrets" })?.value === undefined) return undefined;
  const there = new Set(rowsOf(data, "secrets").map(({ name }) => name));
  const gone = names.filter((name) => !there.has(name));
  if (gone.length === 0) return undefined;
  return `${namesInWords(gone)} ${gone.length === 1 ? "is" : "are"} there no more`;
}
