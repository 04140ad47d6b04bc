/** View of the query workbench: SQL over the lists of the admin API. */

import type { View } from "../model/view.ts";

export const queryView: View = {
  id: "query",
  aliases: ["sql"],
  digit: "9",
  title: "Query workbench",
  about: "SQL over all lists, read at one moment",
  needs: () => [{ id: "list_query_tables" }],
  body: { kind: "workbench" },
  offers: [],
};
