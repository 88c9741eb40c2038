// What a page does beyond showing: theme, values under the pointer or the keyboard's focus, tables
// that sort and download.  Without it the page is complete, with the browser's own tooltips.
'use strict';
{
    const root = document.documentElement;
    const make = (name, properties) => Object.assign(document.createElement(name), properties);

    // ---- theme: the system's, until the button says otherwise ----
    const dark = () => root.dataset.theme ? root.dataset.theme === 'dark'
        : matchMedia('(prefers-color-scheme: dark)').matches;
    const theme = make('button', { id: 'theme', className: 'act', type: 'button' });
    const nameTheme = () => { theme.textContent = dark() ? 'Light theme' : 'Dark theme'; };
    theme.onclick = () => { root.dataset.theme = dark() ? 'light' : 'dark'; nameTheme(); };
    matchMedia('(prefers-color-scheme: dark)').onchange = nameTheme;
    nameTheme();
    document.body.prepend(theme);

    // ---- values of points and of parts of bars ----
    const tip = make('div', { id: 'tip', hidden: true });
    tip.setAttribute('role', 'tooltip');
    document.body.append(tip);
    const show = mark => {
        tip.textContent = mark.getAttribute('aria-label');
        tip.hidden = false;
        const at = mark.getBoundingClientRect();
        const left = Math.min(at.left + at.width / 2 + 12, root.clientWidth - tip.offsetWidth - 8);
        tip.style.left = `${Math.max(left, 8) + scrollX}px`;
        tip.style.top = `${at.top + scrollY - tip.offsetHeight - 6}px`;
    };
    const hide = () => { tip.hidden = true; };
    const watch = mark => {
        mark.addEventListener('pointerenter', () => show(mark));
        mark.addEventListener('pointerleave', hide);
        mark.addEventListener('focus', () => show(mark));
        mark.addEventListener('blur', hide);
    };
    document.querySelectorAll('.bar span').forEach(part => {
        part.setAttribute('role', 'img');
        part.setAttribute('aria-label', part.title);
        part.removeAttribute('title');
        watch(part);
    });
    // One stop of the tab key for each picture; arrows go from point to point.
    document.querySelectorAll('figure').forEach(figure => {
        const points = [...figure.querySelectorAll('.pt')];
        points.forEach((point, i) => {
            point.querySelector('title').remove();
            point.setAttribute('tabindex', i ? -1 : 0);
            watch(point);
            point.addEventListener('keydown', event => {
                const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
                const to = event.key === 'Home' ? 0 : event.key === 'End' ? points.length - 1
                    : step ? i + step : -1;
                if (!points[to]) return;
                event.preventDefault();
                point.setAttribute('tabindex', -1);
                points[to].setAttribute('tabindex', 0);
                points[to].focus();
            });
        });
    });
    addEventListener('keydown', event => { if (event.key === 'Escape') hide(); });

    // ---- tables ----
    const value = cell => {
        if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
        const text = cell.textContent.trim();
        return cell.classList.contains('n') && /^[-+]?\d[\d.]*( %)?$/.test(text)
            ? parseFloat(text) : text;
    };
    const order = new Intl.Collator('en', { numeric: true });
    const empty = x => x === '' || x === '–' || x === '-';
    const compare = (x, y, sign) => empty(x) - empty(y) ||
        sign * (typeof x === 'number' && typeof y === 'number' ? x - y
            : order.compare(String(x), String(y)));
    const sort = (table, column) => {
        const head = table.tHead.rows[0].cells[column];
        const sign = head.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
        for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
        head.setAttribute('aria-sort', sign > 0 ? 'ascending' : 'descending');
        const rows = [...table.tBodies[0].rows];
        rows.sort((a, b) => compare(value(a.cells[column]), value(b.cells[column]), sign));
        table.tBodies[0].append(...rows);
    };
    const quoted = x => /[",\n]/.test(x) ? `"${String(x).replaceAll('"', '""')}"` : String(x);
    const csv = (table, titles) => {
        const kept = titles.map((_, i) => i).filter(i => !table.tBodies[0].querySelector(
            `td:nth-child(${i + 1}) .bar`));
        const rows = [...table.tBodies[0].rows];
        const percent = i => rows.length && rows.every(row =>
            row.cells[i].textContent.trim().endsWith(' %') && !row.cells[i].querySelector('small'));
        const lines = [kept.map(i => quoted(titles[i] + (percent(i) ? ' (%)' : '')))];
        for (const row of rows) lines.push(kept.map(i => quoted(value(row.cells[i]))));
        return lines.map(line => `${line.join(',')}\n`).join('');
    };
    const save = (name, text) => {
        const link = make('a', { download: name,
            href: URL.createObjectURL(new Blob([text], { type: 'text/csv' })) });
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    };
    let heading = '';
    document.querySelectorAll('h1, h2, h3, table').forEach(element => {
        if (element.tagName !== 'TABLE') {
            heading = element.textContent;
            return;
        }
        if (!element.tHead) return;
        const titles = [...element.tHead.rows[0].cells].map(cell => cell.textContent);
        [...element.tHead.rows[0].cells].forEach((cell, column) => {
            const button = make('button', { type: 'button', textContent: titles[column],
                onclick: () => sort(element, column) });
            cell.replaceChildren(button);
        });
        const name = `${heading.toLowerCase().replace(/[^a-z0-9]+/g, '_').replace(/^_|_$/g, '')}.csv`;
        const button = make('button', { className: 'act', type: 'button', textContent: 'CSV',
            onclick: () => save(name, csv(element, titles)) });
        button.setAttribute('aria-label', `Download ${heading} as CSV`);
        element.closest('.wide').after(button);
        element.closest('.wide').tabIndex = 0;
        element.closest('.wide').setAttribute('role', 'region');
        element.closest('.wide').setAttribute('aria-label', heading);
    });
}
