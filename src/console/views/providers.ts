/** View of the providers: worst first, with actions for a failing one. Source: operator console reference, B5. */

import { escapeControls } from "../../base/index.ts";
import { largest, summed, valuesOf } from "../model/rows-query.ts";
import type { Selection, View } from "../model/view.ts";
import { providerFilter } from "./keys-filters.ts";
import { describeProvider, providerPane, routePage, whyNoMembers } from "./providers-pane.ts";
import { providersTable } from "./providers-table.ts";
import { requestsOffer } from "./requests.ts";
import { suspensionOffers } from "./suspension-offers.ts";

const one = ({ ids: [id = ""] }: Selection): string => id;

export const providersView: View = {
  id: "providers",
  rows: "provider",
  aliases: ["prov", "provider", "backends"],
  digit: "2",
  title: "Providers",
  about: "providers as the nodes saw them in the last minute: state, rate, errors, failover",
  needs: () => [
    { id: "list_backends" },
    { id: "list_suspensions" },
    { id: "list_models" },
    { id: "list_cluster_members" },
  ],
  body: {
    kind: "table",
    table: providersTable,
    sort: { column: "state", isDescending: false },
    pane: providerPane,
    paneNeeds: (name) => [{ id: "list_backend_errors", name }],
    describe: describeProvider,
    empty: ({ endpointFlags }) => ({
      sentence: "No providers are configured.",
      next: `Define them in the deployment document (\`providers:\`); to see what is in force: \`gateway admin ${endpointFlags} GET config\``,
    }),
    query: {
      table: "backends",
      columns: [
        "name",
        valuesOf("state"),
        summed("rate"),
        "sum(rate * error_ratio) / nullif(sum(rate), 0) AS error_ratio",
        largest("ttfb_p50_ms"),
        largest("ttfb_p95_ms"),
        summed("in_flight"),
        summed("retries"),
        summed("failovers_in"),
        summed("failovers_out"),
      ],
      key: ["name"],
      group: ["name"],
      order: "error_ratio DESC",
    },
  },
  offers: [
    ...suspensionOffers("provider"),
    {
      verb: "errors",
      needsRow: true,
      start: (chosen) => ({ kind: "go", place: { view: "errors", subject: one(chosen) } }),
    },
    requestsOffer(providerFilter),
    {
      verb: "members",
      needsRow: true,
      disabledReason: (chosen, { data }) => whyNoMembers(data, one(chosen)),
      start: (chosen) => ({ kind: "go", place: { view: "pool", subject: one(chosen) } }),
    },
    {
      verb: "follow",
      label: "failover",
      needsRow: true,
      disabledReason: (_, { data }) =>
        data.get({ id: "list_models" })?.value === undefined ? "the routes of its models could not be read" : undefined,
      start: (chosen, context) => ({
        kind: "page",
        title: `Routes of ${escapeControls(one(chosen))}`,
        lines: routePage(one(chosen), context),
      }),
    },
  ],
};
