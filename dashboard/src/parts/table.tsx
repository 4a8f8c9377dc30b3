import type { ComponentChildren } from "preact";
import { Empty, Loading } from "./notes.js";

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  readonly align?: "end";
  /** Takes what the others leave, and breaks or is cut where that is little. */
  readonly wide?: boolean;
  /** No title of its own: the column of buttons. */
  readonly bare?: boolean;
}

interface TableProps<Row> {
  /** Said to those who cannot see the page. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  /** Undefined while it is not known. */
  readonly rows: readonly Row[] | undefined;
  readonly rowKey: (row: Row) => string;
  readonly empty: string;
  readonly emptySays?: string;
  readonly rowClass?: (row: Row) => string;
}

/** Rows and columns; on a narrow screen each row is a small card that names its cells itself. */
export function Table<Row>({ caption, columns, rows, rowKey, empty, emptySays, rowClass }: TableProps<Row>) {
  if (rows === undefined) return <Loading />;
  if (rows.length === 0) return <Empty title={empty}>{emptySays}</Empty>;
  return (
    <div class="table-frame">
      <table>
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={cellClass(column)}>
                {column.bare === true ? <span class="visually-hidden">{column.title}</span> : column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)} class={rowClass?.(row) ?? ""}>
              {columns.map((column) => (
                <td key={column.title} class={cellClass(column)} data-label={column.bare === true ? "" : column.title}>
                  <div class="cell">{column.cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function cellClass<Row>({ align, wide = false, bare = false }: Column<Row>): string {
  return [align === "end" ? "end" : "", wide ? "wide" : "", bare ? "bare" : ""].filter((part) => part !== "").join(" ");
}
