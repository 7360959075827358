// Sorts and filters the table of cases. Without it the table is all there, in the suite's order.
"use strict";
{
  const table = document.getElementById("cases");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const form = document.getElementById("filter");

  const valueOf = (row, column) => {
    const cell = row.cells[column];
    return "sort" in cell.dataset ? Number(cell.dataset.sort) : cell.textContent.trim();
  };

  // Empty cells come last, whichever way it is sorted.
  const compare = (a, b, direction) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    if (typeof a === "number" && typeof b === "number") return direction * (a - b);
    return direction * String(a).localeCompare(String(b), "en", { numeric: true });
  };

  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    header.append(button);
    button.addEventListener("click", () => {
      const ascending = header.getAttribute("aria-sort") !== "ascending";
      for (const other of headers) other.removeAttribute("aria-sort");
      header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      rows.sort((a, b) => compare(valueOf(a, column), valueOf(b, column), ascending ? 1 : -1));
      body.append(...rows);
    });
  });

  const filter = () => {
    const text = form.elements.text.value.trim().toLowerCase();
    const verdict = form.elements.verdict.value;
    for (const row of rows) {
      row.hidden =
        !row.textContent.toLowerCase().includes(text) || (verdict !== "" && row.dataset.verdict !== verdict);
    }
    form.elements.shown.value = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
  };
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  filter();
}
