/** Definition of one list of the admin API. */

import { flag, integer, type Keys, type ObjectSchema, object, optional, text } from "../base/index.ts";
import { EVERY_NODE } from "./every-node.ts";

/** Groups of lists in the overview of `gateway get`, with their titles and in their order. */
export const LIST_GROUPS = {
  traffic: "Traffic",
  access: "Callers and limits",
  configuration: "Configuration",
  cluster: "Cluster and audit",
  bills: "Usage and bills",
} as const;

interface Presentation<Column extends string> {
  /** Content and order of the list, in one sentence that begins with "Lists". */
  readonly help: string;
  /** Columns whose values together identify a row. */
  readonly identity: readonly Column[];
  /** Presentation by `gateway get`. */
  readonly get: {
    readonly about: keyof typeof LIST_GROUPS;
    /** Other names for the list, as other tools call the same thing. */
    readonly aliases: readonly string[];
    /** Columns whose values, joined by `:`, name a row on the command line. */
    readonly name: readonly Column[];
    /** Columns of the narrow table, in order; all other formats show all columns. */
    readonly columns: readonly Column[];
  };
}

export interface ListDefinition<K extends Keys = Keys, Q extends Keys = Keys> extends Presentation<keyof K & string> {
  /**
   * Query parameters: `LIST_QUERY` for rows that are the same on every node, `MEASURED_QUERY` for rows of each node, and others
   * with filters.
   */
  readonly query: ObjectSchema<Q>;
  readonly row: ObjectSchema<K>;
}

/** Returns the definition unchanged. The compiler checks that its columns exist. */
export const defineList = <const K extends Keys, const Q extends Keys>(
  definition: ListDefinition<K, Q>,
): ListDefinition<K, Q> => definition;

export const LIST_QUERY = object("Query parameters.", {
  index: optional(
    integer("Wait until the list has changed since this index, which an earlier answer returned.", {
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
    }),
  ),
  wait: optional(
    text("With `index`: maximum wait for a change; then the current rows are returned. The default is 30s.", {
      format: "duration",
      "x-max-duration": "5m",
    }),
  ),
  consistent: optional(flag("Include every write that any node acknowledged before this call. Needs a leader.")),
});

const MEASURED_KEYS = { ...LIST_QUERY.keys, ...EVERY_NODE } as const;

/** Query of a list that each node measures. */
export const MEASURED_QUERY = object("Query parameters.", MEASURED_KEYS);

/** Returns the query of a measured list that can be filtered by the values of these columns. */
export const filteredQuery = <const K extends Keys>(columns: K) =>
  object("Query parameters.", { ...MEASURED_KEYS, ...columns });

/** Returns a filter by a column of texts. */
export const filter = (column: string) => optional(text(`Only rows with this ${column}.`, { maxLength: 256 }));

/** Maximum number of rows in a page. */
const MAX_PAGE = 10_000;

/** Query of a list whose rows are sorted by name, and which can also be read in pages. */
export const PAGED_QUERY = object("Query parameters.", {
  ...LIST_QUERY.keys,
  limit: optional(
    integer("Maximum number of rows in the page, sorted by name. All rows by default.", {
      minimum: 1,
      maximum: MAX_PAGE,
    }),
  ),
  after: optional(
    text("With `limit`: only rows after this name, usually the last name of the previous page.", {
      pattern: "^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$",
    }),
  ),
});
