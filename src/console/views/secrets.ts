/** View of the sealed secrets: names, versions and wrapping keys. The gateway never returns a value. */

import type { SecretRecord } from "../../admin-api/index.ts";
import { putSecretDialog, secretsRemovalDialog, whySecretsGone } from "../actions/secret-dialogs.ts";
import { countColumn, momentColumn, textColumn } from "../format/column-kinds.ts";
import type { Context } from "../model/context.ts";
import { rowsOf } from "../model/data.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import type { View } from "../model/view.ts";

const COLUMNS: readonly Column<SecretRecord>[] = [
  textColumn(
    { head: "NAME", letter: "n", width: { least: 16, flex: 2 }, priority: 1, cut: "middle" },
    ({ name }) => name,
  ),
  countColumn({ head: "VERSION", letter: "v", width: 7, priority: 2 }, ({ version }) => version),
  momentColumn({ head: "UPDATED", letter: "u", width: 17, priority: 3 }, ({ updated_at }) => updated_at),
  textColumn({ head: "KEK", letter: "k", width: { least: 12, flex: 1 }, priority: 4, cut: "middle" }, ({ kek }) => kek),
];

const table = ({ data }: Pick<Context, "data">): Table =>
  tableOf<SecretRecord>(
    {
      columns: COLUMNS,
      idOf: ({ name }) => name,
      nameOf: ({ name }) => name,
      haystack: ({ name, kek }) => `${name} ${kek}`,
      jsonOf: (secret) => secret,
    },
    rowsOf(data, "secrets"),
  );

export const secretsView: View = {
  id: "secrets",
  rows: "secret",
  aliases: ["secret"],
  title: "Secrets",
  about: "sealed secrets: names and versions, never values",
  needs: () => [{ id: "list_secrets" }, { id: "list_cluster_members" }],
  body: {
    kind: "table",
    table,
    sort: { column: "name", isDescending: false },
    empty: ({ endpointFlags, isReadOnly }) => ({
      sentence: "No sealed secrets.",
      next: isReadOnly
        ? `Seal one with \`gateway admin ${endpointFlags} -d @FILE PUT secrets/NAME\`, FILE holding {"value":"..."}`
        : "Press n to create one, typed (hidden) or from a file.",
    }),
    query: {
      table: "secrets",
      columns: ["name", "version", "updated_at", "kek"],
      key: ["name"],
      order: "name",
    },
  },
  offers: [
    {
      verb: "create",
      label: "new secret",
      needsRow: false,
      start: () => ({ kind: "dialog", dialog: putSecretDialog(undefined) }),
    },
    {
      verb: "rotate",
      label: "new value",
      needsRow: true,
      disabledReason: ({ ids }, { data }) => whySecretsGone(ids, data),
      start: ({ ids: [name = ""] }) => ({ kind: "dialog", dialog: putSecretDialog(name) }),
    },
    {
      verb: "remove",
      label: "delete",
      needsRow: true,
      takesMany: true,
      disabledReason: ({ ids }, { data }) => whySecretsGone(ids, data),
      start: ({ ids }) => ({ kind: "dialog", dialog: secretsRemovalDialog(ids) }),
    },
  ],
};
