/** View of the views saved under function keys, also for terminals that send none. */

import { textColumn } from "../format/column-kinds.ts";
import { chordText } from "../format/keys-text.ts";
import type { Context } from "../model/context.ts";
import type { Chord } from "../model/key-event.ts";
import type { Favorite } from "../model/preferences.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import type { View } from "../model/view.ts";

interface Row {
  readonly key: Chord;
  readonly order: number;
  readonly favorite: Favorite;
}

const sortText = ({ sort }: Favorite): string | null =>
  sort === undefined ? null : `${sort.column} ${sort.isDescending ? "desc" : "asc"}`;

const COLUMNS: readonly Column<Row>[] = [
  {
    ...textColumn<Row>({ head: "KEY", letter: "k", width: 4, priority: 1 }, ({ key }) => chordText(key)),
    sortKey: ({ order }) => order,
  },
  textColumn(
    { head: "VIEW", letter: "v", width: { least: 12, flex: 1 }, priority: 1 },
    ({ favorite }) => favorite.place.view,
  ),
  textColumn(
    { head: "ABOUT", letter: "a", width: { least: 10, flex: 1 }, priority: 3, cut: "middle" },
    ({ favorite }) => favorite.place.subject ?? null,
  ),
  textColumn({ head: "FILTER", letter: "f", width: { least: 12, flex: 2 }, priority: 2 }, ({ favorite }) =>
    favorite.filter === "" ? null : favorite.filter,
  ),
  textColumn({ head: "SORT", letter: "s", width: { least: 10, flex: 1 }, priority: 4 }, ({ favorite }) =>
    sortText(favorite),
  ),
];

const table = ({ favorites }: Pick<Context, "favorites">): Table =>
  tableOf<Row>(
    {
      columns: COLUMNS,
      idOf: ({ key }) => key,
      nameOf: ({ key }) => chordText(key),
      haystack: ({ key, favorite }) => [key, favorite.place.view, favorite.place.subject, favorite.filter].join(" "),
      jsonOf: ({ key, favorite }) => ({ key, ...favorite }),
    },
    [...(favorites ?? [])].map(([key, favorite], order) => ({ key, favorite, order })),
  );

export const favoritesView: View = {
  id: "favorites",
  aliases: ["fav"],
  title: "Favorites",
  about: "views that were kept under function keys, with filter and sort",
  needs: () => [],
  body: {
    kind: "table",
    table,
    sort: { column: "key", isDescending: false },
    open(key, { favorites }) {
      const favorite = favorites?.get(key);
      return favorite === undefined
        ? { kind: "flash", message: "the function key has no view any longer" }
        : { kind: "go", ...favorite };
    },
    empty: () => ({
      sentence: "No view is kept under a function key.",
      next: "K in any view keeps it there, with its filter and sort; the function key then goes to it.",
    }),
  },
  offers: [],
};
