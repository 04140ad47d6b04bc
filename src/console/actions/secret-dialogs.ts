/**
 * Dialogs about sealed secrets: a new one, a new value, and deletion, which is confirmed by the name of one or the number of
 * several. A value is typed hidden or read from a file; it appears in no command line and no text.
 */

import { OPERATIONS } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";
import { sealingCommand } from "../format/command-line.ts";
import { namesText } from "../format/name-list.ts";
import { plural } from "../format/numbers.ts";
import { actionOf } from "../model/action.ts";
import { type Data, rowsOf } from "../model/data.ts";
import type { Dialog, Field, FieldValues } from "../model/dialog.ts";
import { line } from "../model/text.ts";
import { onNodes } from "./applying-nodes.ts";
import { fileProblem } from "./ask-file.ts";

/** Builds the dialog that deletes secrets. `names` has at least one name. */
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
      ...(isOne ? [] : [["Secrets", line(namesText(names))] as const]),
      [
        "Then",
        line(
          `a configuration that uses ${reference} no longer compiles: nodes keep what is in force, and one that restarts serves nothing until the secret exists again`,
          "warn",
        ),
      ],
    ],
    confirm: isOne
      ? { kind: "typed", button: "delete", label: "type the name of the secret", expected: () => name }
      : { kind: "typed", button: "delete", label: "type the number of secrets", expected: () => String(names.length) },
    attached: () => ({ kind: "secret_uses", names }),
    blockedReason: (_, { data }) => whySecretsGone(names, data),
    task: () => ({
      kind: "actions",
      actions: names.map((it) =>
        actionOf("delete_secret", { params: { name: it } }, () => ({
          message: `secret ${escapeControls(it)} deleted`,
        })),
      ),
    }),
  };
}

export function whySecretsGone(names: readonly string[], data: Data): string | undefined {
  if (data.get({ id: "list_secrets" })?.value === undefined) return undefined;
  const there = new Set(rowsOf(data, "secrets").map(({ name }) => name));
  const gone = names.filter((name) => !there.has(name));
  if (gone.length === 0) return undefined;
  return `${namesText(gone)} no longer exist${gone.length === 1 ? "s" : ""}`;
}

const NAME = new RegExp(String(OPERATIONS.put_secret.params.keys.name.json["pattern"]));
const MAX_VALUE_LENGTH = Number(OPERATIONS.put_secret.body.schema.keys.value.json["maxLength"]);

const VALUE_FIELDS: readonly Field[] = [
  { kind: "text", id: "value", label: "Value", initial: "", isUnseen: true },
  { kind: "text", id: "file", label: "or from file", initial: "", isFile: true },
];

/** Builds the dialog. `name: undefined` asks for the name, and no secret of that name may exist. */
export function putSecretDialog(name: string | undefined): Dialog {
  const nameOf = (values: FieldValues): string => name ?? values["name"] ?? "";
  const fileOf = ({ file = "" }: FieldValues): string => file.trim();
  return {
    title: name === undefined ? "New secret" : `New value of secret ${escapeControls(name)}`,
    isDangerous: name !== undefined,
    fields: [
      ...(name === undefined
        ? [{ kind: "text", id: "name", label: "Name", initial: "", isRequired: true } as const]
        : []),
      ...VALUE_FIELDS,
    ],
    lines: (values, { data }) => [
      [
        "Effect",
        line(
          name === undefined
            ? `sealed ${onNodes(data)}; a configuration names it as \${secret:${escapeControls(nameOf(values)) || "NAME"}}`
            : `the new value is used ${onNodes(data)} at once; the old one no longer exists`,
        ),
      ],
      ["Value", line("typed or pasted (hidden), or a local file without its final newline", "dim")],
    ],
    ...(name !== undefined && { attached: () => ({ kind: "secret_uses", names: [name] }) as const }),
    confirm: { kind: "yes", button: name === undefined ? "seal" : "seal the new value" },
    blockedReason(values, { data }) {
      const { value = "" } = values;
      const file = fileOf(values);
      if (!NAME.test(nameOf(values))) return "a name has 1 to 128 letters, digits, `_`, `.` and `-`";
      const isThere = rowsOf(data, "secrets").some((secret) => secret.name === nameOf(values));
      if (name === undefined && isThere) return "there is a secret with that name; T gives it a new value";
      if (name !== undefined && !isThere) return whySecretsGone([name], data);
      if (value === "" && file === "") return "type the value, or name a file that holds it";
      if (value !== "" && file !== "") return "a value was typed and a file named: leave one of them empty";
      if (value.length > MAX_VALUE_LENGTH) return `a value has at most ${MAX_VALUE_LENGTH} characters`;
      return file === "" ? undefined : fileProblem(file);
    },
    task(values) {
      const file = fileOf(values);
      const secret = nameOf(values);
      if (file !== "") return { kind: "job", job: { kind: "put_secret", name: secret, file } };
      const action = actionOf(
        "put_secret",
        { params: { name: secret }, body: { value: values["value"] ?? "" } },
        (it) => ({
          message: `secret ${escapeControls(secret)}: version ${it.version} is sealed`,
        }),
      );
      return { kind: "actions", actions: [action] };
    },
    commands: (values, context) => [sealingCommand(nameOf(values), fileOf(values) || "FILE", context)],
  };
}
