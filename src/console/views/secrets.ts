/** The sealed secrets: names, versions and wrapping keys. A value is never answered by the gateway, so none can be here. */

import type { SecretRecord } from "../../admin-api/index.ts";
import { count } from "../format/numbers.ts";
import { clock } from "../format/times.ts";
import type { Context } from "../model/context.ts";
import { rowsOf } from "../model/data.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { span } from "../model/text.ts";
import type { View } from "../model/view.ts";
import { shown } from "./keys-lines.ts";
import { secretsRemovalDialog, whySecretsGone } from "./secrets-removal.ts";

const COLUMNS: readonly Column<SecretRecord>[] = [
  {
    id: "name",
    head: "NAME",
    letter: "n",
    width: { least: 16, flex: 2 },
    align: "left",
    priority: 1,
    cut: "middle",
    cell: ({ name }) => shown(name),
    sortKey: ({ name }) => name,
  },
  {
    id: "version",
    head: "VERSION",
    letter: "v",
    width: 7,
    align: "right",
    priority: 2,
    cell: ({ version }) => span(count(version)),
    sortKey: ({ version }) => version,
  },
  {
    id: "updated",
    head: "UPDATED",
    letter: "u",
    width: 17,
    align: "left",
    priority: 3,
    cell: ({ updated_at }, now) => span(clock(Date.parse(updated_at), now)),
    sortKey: ({ updated_at }) => Date.parse(updated_at),
  },
  {
    id: "kek",
    head: "KEK",
    letter: "k",
    width: { least: 12, flex: 1 },
    align: "left",
    priority: 4,
    cut: "middle",
    cell: ({ kek }) => shown(kek),
    sortKey: ({ kek }) => kek,
  },
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
  aliases: ["secret"],
  title: "Secrets",
  about: "sealed secrets: names and versions, never values",
  needs: () => [{ id: "list_secrets" }, { id: "list_cluster_members" }],
  body: {
    kind: "table",
    table,
    sort: { column: "name", isDescending: false },
    empty: ({ doorFlags }) => ({
      sentence: "No sealed secrets.",
      next: `Seal one with \`gateway admin ${doorFlags} -d @FILE PUT secrets/NAME\`, FILE holding {"value":"..."}`,
    }),
    sql: () => "SELECT name, version, updated_at, kek FROM secrets ORDER BY name",
  },
  offers: [
    {
      verb: "remove",
      does: "delete",
      needsRow: true,
      takesMany: true,
      why: ({ ids }, { data }) => whySecretsGone(ids, data),
      start: ({ ids }) => ({ kind: "dialog", dialog: secretsRemovalDialog(ids) }),
    },
  ],
};
