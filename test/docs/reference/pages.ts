/** All files of `docs/reference/`, generated from tables of the program. */

import { adminApiPage, listsPage } from "./admin-pages.ts";
import { auditPage } from "./audit-page.ts";
import { capabilitiesPage, presetsPage, routesPage } from "./catalog-pages.ts";
import { cliPages, environmentPage } from "./cli-pages.ts";
import { entityTypesPage } from "./entity-types-page.ts";
import { errorsPage } from "./errors-page.ts";
import { metricsPage } from "./metrics-page.ts";
import { type Page, prose, table, textOf } from "./page.ts";
import { SCHEMA_FILES, schemaPages } from "./schema-page.ts";

function overviewPage(pages: readonly Page[]): Page {
  const shown = pages.filter(({ path }) => !path.includes("/") || path.endsWith("README.md"));
  const rows = shown
    .toSorted((a, b) => a.order - b.order)
    .map(({ path, title, about }) => [`[${title}](${path})`, prose(about)]);
  return {
    path: "README.md",
    title: "Reference",
    order: 0,
    about: "",
    body: `These pages are generated from the tables of the program itself, so they describe exactly this version.\n\n${table(["Page", "Content"], rows)}`,
  };
}

/** Returns the text of each file by its path below `docs/reference/`. `root` is the repository's folder. */
export function referenceFiles(root: string): ReadonlyMap<string, string> {
  const pages = [
    ...schemaPages(),
    ...cliPages(),
    environmentPage(),
    adminApiPage(),
    listsPage(),
    errorsPage(),
    metricsPage(root),
    auditPage(),
    entityTypesPage(),
    presetsPage(),
    routesPage(),
    capabilitiesPage(),
  ];
  return new Map([
    ...[overviewPage(pages), ...pages].map((page) => [page.path, textOf(page)] as const),
    ...Object.entries(SCHEMA_FILES).map(
      ([name, schema]) => [`schemas/${name}`, `${JSON.stringify(schema(), null, 2)}\n`] as const,
    ),
  ]);
}
