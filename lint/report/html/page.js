'use strict';
(() => {
  const root = document.documentElement;
  root.classList.add('js');
  const $ = id => document.getElementById(id);
  const RANK = { error: 3, warning: 2, info: 1 };

  // ---- elements -------------------------------------------------------------------------------------------------------
  // Everything is made of nodes and text, never of markup, so that no text of the input is parsed.
  function add(parent, name, attrs, ...children) {
    const e = document.createElement(name);
    set(e, attrs);
    e.append(...children.filter(c => c !== null && c !== undefined));
    if (parent) parent.append(e);
    return e;
  }
  const SVG = 'http://www.w3.org/2000/svg';
  function draw(parent, name, attrs, text) {
    const e = document.createElementNS(SVG, name);
    set(e, attrs);
    if (text !== undefined) e.textContent = text;
    parent.append(e);
    return e;
  }
  function set(e, attrs) {
    for (const k in attrs) if (attrs[k] !== null && attrs[k] !== undefined) e.setAttribute(k, attrs[k]);
  }
  const plural = (n, noun) => n === 1 ? '1 ' + noun : n + ' ' + noun + 's';
  function later(f, ms) {
    let timer = 0;
    return () => { clearTimeout(timer); timer = setTimeout(f, ms); };
  }

  // ---- colours --------------------------------------------------------------------------------------------------------
  const theme = $('theme');
  function paint(name) {
    if (name) root.dataset.theme = name; else delete root.dataset.theme;
    theme.value = name;
  }
  let kept = '';
  try { kept = localStorage.getItem('meshvet-theme') || ''; } catch { /* files may have no storage */ }
  paint(kept === 'light' || kept === 'dark' ? kept : '');
  theme.addEventListener('change', () => {
    paint(theme.value);
    try { localStorage.setItem('meshvet-theme', theme.value); } catch { /* then it holds for this view only */ }
  });

  // ---- findings -------------------------------------------------------------------------------------------------------
  const findings = [...document.querySelectorAll('#list > .f')];
  const severityOf = findings.map(e => e.dataset.s);
  const texts = []; // of findings, in lower case, once somebody searches
  const filter = $('filter');
  const words = s => s.toLowerCase().split(/\s+/).filter(Boolean);

  function applyFilter() {
    const severities = new Set([...filter.querySelectorAll('[name=severity]:checked')].map(c => c.value));
    const rule = $('rule').value, ns = $('ns').value, file = $('file').value, query = words($('q').value);
    let shown = 0;
    findings.forEach((e, i) => {
      const d = e.dataset;
      let ok = severities.has(d.s) && (!rule || d.r === rule) && (ns === '*' || d.n === ns) && (!file || d.f === file);
      if (ok && query.length) {
        texts[i] = texts[i] || e.textContent.toLowerCase();
        ok = query.every(w => texts[i].includes(w));
      }
      e.hidden = !ok;
      if (ok) shown++;
    });
    const all = findings.length;
    $('count').textContent = shown === all ? plural(all, 'finding') + ', worst first' : shown + ' of ' + plural(all, 'finding') + ' shown';
    $('none').hidden = shown > 0;
  }
  function clearFilter() {
    filter.reset(); // which tells by an event
  }
  if (filter) {
    filter.addEventListener('submit', e => e.preventDefault());
    filter.addEventListener('change', applyFilter);
    filter.addEventListener('reset', () => setTimeout(applyFilter));
    $('q').addEventListener('input', later(applyFilter, 80));
    $('clear').addEventListener('click', () => { clearFilter(); $('q').focus(); });
    const openAll = open => {
      for (const e of findings) if (!e.hidden) e.firstElementChild.open = open;
    };
    $('open-all').addEventListener('click', () => openAll(true));
    $('close-all').addEventListener('click', () => openAll(false));
    for (const b of document.querySelectorAll('[data-rule]')) {
      b.addEventListener('click', () => {
        filter.reset();
        $('rule').value = b.dataset.rule;
        setTimeout(() => { applyFilter(); $('findings').focus(); $('findings').scrollIntoView(); });
      });
    }
    document.addEventListener('keydown', e => {
      if (e.key === '/' && !e.ctrlKey && !e.metaKey && !e.altKey && !/^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) {
        e.preventDefault();
        $('q').focus();
      }
    });
  }
  // showFinding brings a finding into view, whatever the filter hides.
  function showFinding(i) {
    const e = findings[i];
    if (e.hidden) { filter.reset(); findings.forEach(f => { f.hidden = false; }); }
    e.firstElementChild.open = true;
    e.scrollIntoView({ block: 'start' });
    e.focus({ preventScroll: true });
  }
  function showTarget() {
    const e = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const i = e ? findings.indexOf(e) : -1;
    if (i >= 0) showFinding(i);
  }
  addEventListener('hashchange', showTarget);
  showTarget();

  // Paper has no way to open details: all that the filter leaves are printed with theirs.
  let closed = [];
  addEventListener('beforeprint', () => {
    closed = findings.filter(e => !e.hidden && !e.firstElementChild.open);
    for (const e of closed) e.firstElementChild.open = true;
  });
  addEventListener('afterprint', () => {
    for (const e of closed) e.firstElementChild.open = false;
  });

  // ---- the data of the map ----------------------------------------------------------------------------------------------
  const data = JSON.parse($('data').textContent);
  if (!data.hosts || !data.hosts.length) return;
  const T = i => data.texts[i || 0];
  const refText = r => T(data.refs[r][0]), refPlace = r => T(data.refs[r][1]);
  const known = list => (list || []).filter(f => f < findings.length);
  const worstOf = list => {
    let w = '';
    for (const f of list) if ((RANK[severityOf[f]] || 0) > (RANK[w] || 0)) w = severityOf[f];
    return w;
  };
  const union = lists => [...new Set(lists.flat())].sort((a, b) => a - b);
  const leads = new Map(); // finding -> nodes
  const lead = (list, id) => {
    for (const f of list) leads.has(f) ? leads.get(f).push(id) : leads.set(f, [id]);
  };

  const hosts = data.hosts.map((h, i) => {
    const host = { i, id: 'h' + i, name: T(h.n), scope: T(h.m), clients: T(h.c), owner: T(h.o), entries: h.e || [], notes: (h.w || []).map(T), own: known(h.z) };
    lead(host.own, host.id);
    host.ports = (h.p || []).map((p, j) => {
      const port = { id: host.id + 'p' + j, title: T(p.n), own: known(p.z) };
      lead(port.own, port.id);
      port.views = (p.v || []).map((v, k) => {
        const view = { id: port.id + 'v' + k, clients: T(v.c), note: T(v.t) };
        view.hops = (v.h || []).map((x, l) => {
          const hop = {
            id: view.id + 'x' + l, proxy: T(x.x), cluster: T(x.k), subset: T(x.u), rules: x.r || [], routes: x.o || [],
            fields: x.f || [], facts: (x.w || []).map(T), found: known(x.z),
          };
          lead(hop.found, hop.id);
          return hop;
        });
        view.found = union(view.hops.map(x => x.found));
        return view;
      });
      port.found = union([port.own, ...port.views.map(v => v.found)]);
      return port;
    });
    host.found = union([host.own, ...host.ports.map(p => p.found)]);
    host.worst = worstOf(host.found);
    return host;
  });
  const hostOf = id => hosts[+/^h(\d+)/.exec(id)[1]];
  let haystacks = null;
  function haystack(h) {
    haystacks = haystacks || [];
    return haystacks[h.i] = haystacks[h.i] || [h.name, h.scope, h.clients, h.owner, ...h.entries.map(refText),
      ...h.ports.flatMap(p => [p.title, ...p.views.flatMap(v => [v.clients, ...v.hops.flatMap(x => [x.proxy, x.cluster, x.subset, ...x.rules.map(refText), ...x.routes.map(refText)])])]),
    ].join('\n').toLowerCase();
  }

  // ---- the map --------------------------------------------------------------------------------------------------------
  // A tree in columns: a node stands on the row of its first leaf, so the layout takes one pass over the nodes. Nothing crosses.
  const ROW = 30, NODE = 24, GAP = 34, STEP = 150, MAX_VIEWS = 12;
  const canvas = $('canvas');
  const open = new Map(); // group -> how many of its hosts are shown
  const state = { zoom: 1, current: '', selected: '', from: -1 };
  let nodes = [], byId = new Map(), svg = null, size = { w: 0, h: 0 };

  // widthOf measures texts in the fonts of the map without laying anything out.
  const widthOf = (() => {
    const s = draw(canvas, 'svg', { width: 0, height: 0, 'aria-hidden': 'true' });
    const fonts = {};
    for (const kind of ['sans', 'mono', 'sub', 'bold']) {
      const style = getComputedStyle(draw(draw(s, 'g', { class: kind === 'bold' ? 'node group' : 'node' }), 'text', { class: kind }, 'a'));
      fonts[kind] = style.fontWeight + ' ' + style.fontSize + ' ' + style.fontFamily;
    }
    s.remove();
    const pen = document.createElement('canvas').getContext('2d');
    let last = '';
    return (text, kind) => {
      if (last !== kind) pen.font = fonts[last = kind];
      return pen.measureText(text).width;
    };
  })();
  // cut shortens a text to a width; of a path the end says more.
  function cut(text, width, kind, keepEnd) {
    if (text.length * 9 < width && /^[ -~]*$/.test(text) || widthOf(text, kind) <= width) return text;
    const runes = [...(keepEnd ? text.slice(-200) : text.slice(0, 200))];
    const first = n => (keepEnd ? '…' + runes.slice(runes.length - n).join('') : runes.slice(0, n).join('') + '…');
    let few = 0, many = runes.length;
    while (few < many) {
      const n = (few + many + 1) >> 1;
      if (widthOf(first(n), kind) <= width) few = n; else many = n - 1;
    }
    return first(few);
  }

  function groups() {
    const by = $('group').value === 'o' ? 'owner' : 'clients';
    const query = words($('mq').value), onlyBad = $('bad').checked;
    const out = new Map();
    for (const h of hosts) {
      if (onlyBad && !h.worst) continue;
      if (query.length && !query.every(w => haystack(h).includes(w))) continue;
      const key = (data.scopes ? h.scope + '\u0000' : '') + h[by];
      if (!out.has(key)) out.set(key, { key, id: '', label: h[by], scope: data.scopes ? h.scope : '', hosts: [] });
      out.get(key).hosts.push(h);
    }
    const list = [...out.values()];
    for (const g of list) {
      g.found = union(g.hosts.map(h => h.found));
      g.worst = worstOf(g.found);
    }
    list.sort((a, b) => (a.scope < b.scope ? -1 : a.scope > b.scope ? 1 : a.label < b.label ? -1 : a.label > b.label ? 1 : 0));
    list.forEach((g, i) => { g.id = 'g' + i; });
    return { list, by, searching: query.length > 0 };
  }

  function ruleLabel(x) {
    if (!x.rules.length) return 'no DestinationRule';
    const names = x.rules.map(r => refText(r).replace(/^DestinationRule /, 'DR '));
    return names[0] + (names.length > 1 ? ' +' + (names.length - 1) : '');
  }

  // render draws what is open. Groups show a hundred hosts, and more on demand.
  const PAGE = 100;
  function render(focus) {
    const { list, by, searching } = groups();
    const total = list.reduce((n, g) => n + g.hosts.length, 0);
    const splitViews = hosts.some(h => h.ports.some(p => p.views.length > 1));
    const width = { group: 190, host: 280, port: 150, view: splitViews ? 180 : 0, hop: 260 };
    const x = { group: 10 };
    x.host = x.group + width.group + GAP;
    x.port = x.host + width.host + GAP;
    x.view = x.port + width.port + GAP;
    x.hop = splitViews ? x.view + width.view + GAP : x.view;
    const most = Math.max(1, ...list.map(g => Math.max(1, ...g.hosts.map(h => Math.max(0, ...h.ports.map(p => Math.max(0, ...p.views.map(v => v.hops.length))))))));
    if (most === 1) width.hop = Math.min(420, Math.max(260, canvas.clientWidth - x.hop - 16)); // one hop takes what room there is
    nodes = []; byId = new Map();
    const edges = [];
    let row = 0, hopColumns = 1, shown = 0;
    const node = n => {
      n.y = 34 + n.row * ROW;
      nodes.push(n);
      byId.set(n.id, n);
      if (n.parent) edges.push([n.parent, n]);
      return n;
    };
    for (const g of list) {
      if (!open.has(g.key)) open.set(g.key, total <= 60 || list.length === 1 ? PAGE : 0);
      const limit = searching ? Math.max(PAGE, open.get(g.key)) : open.get(g.key);
      const gn = node({
        id: g.id, kind: 'group', level: 1, row, x: x.group, w: width.group, key: g.key, text: g.label, sub: (g.scope ? g.scope + ' · ' : '') + plural(g.hosts.length, 'host'), keepEnd: true,
        found: g.found, worst: g.worst, own: !limit, expanded: limit > 0,
        label: (by === 'owner' ? 'defined in ' : 'clients in ') + g.label + (g.scope ? ', mesh ' + g.scope : '') + ', ' + plural(g.hosts.length, 'host'),
      });
      if (!limit) { row += 1.35; continue; }
      const first = row;
      for (const h of g.hosts.slice(0, limit)) {
        shown++;
        const hn = node({ id: h.id, kind: 'host', level: 2, parent: gn, row, x: x.host, w: width.host, text: h.name, mono: true, found: h.found, worst: h.worst, own: h.own.length > 0, expanded: h.ports.length ? true : undefined,
          label: 'host ' + h.name + ', clients in ' + h.clients });
        if (!h.ports.length) row++;
        for (const p of h.ports) {
          const pn = node({ id: p.id, kind: 'port', level: 3, parent: hn, row, x: x.port, w: width.port, text: p.title, found: p.found, worst: worstOf(p.found), own: p.own.length > 0, label: 'port ' + p.title });
          if (!p.views.length) row++;
          p.views.slice(0, MAX_VIEWS).forEach(v => {
            let parent = pn, level = 4;
            if (splitViews) {
              parent = node({ id: v.id, kind: 'view', level, parent, row, x: x.view, w: width.view, text: v.clients, found: v.found, worst: worstOf(v.found), label: 'clients in ' + v.clients });
              level++;
            }
            if (!v.hops.length) {
              node({ id: v.id + 'n', kind: 'none', level, parent, row, x: x.hop, w: width.hop, text: v.note || 'no connection', found: [], worst: '', label: v.note || 'no connection' });
            }
            v.hops.forEach((hop, l) => {
              hopColumns = Math.max(hopColumns, l + 1);
              parent = node({ id: hop.id, kind: 'rule', level: level + l, parent, row, x: x.hop + l * (width.hop + GAP), w: width.hop, text: ruleLabel(hop),
                sub: hop.proxy + (hop.subset ? ' · subset ' + hop.subset : ''), found: hop.found, worst: worstOf(hop.found), own: true, rules: hop.rules, stacked: true,
                label: 'hop ' + (l + 1) + ', ' + hop.proxy + (hop.rules.length ? ', rules ' + hop.rules.map(refText).join(', ') : ', no DestinationRule') + ', cluster ' + hop.cluster });
            });
            row += v.hops.length ? 1.45 : 1;
          });
          if (p.views.length > MAX_VIEWS) {
            node({ id: p.id + 'more', kind: 'none', level: 4, parent: pn, row, x: splitViews ? x.view : x.hop, w: splitViews ? width.view : width.hop, text: (p.views.length - MAX_VIEWS) + ' more in the table', found: [], worst: '', label: (p.views.length - MAX_VIEWS) + ' more in the table' });
            row++;
          }
        }
      }
      if (g.hosts.length > limit) {
        node({ id: g.id + 'more', kind: 'more', level: 2, parent: gn, row, x: x.host, w: width.host, key: g.key, text: 'show ' + Math.min(PAGE, g.hosts.length - limit) + ' more of ' + (g.hosts.length - limit), found: [], worst: '',
          label: 'show more hosts, ' + (g.hosts.length - limit) + ' are left' });
        row++;
      }
      row = Math.max(row, first + 1.35) + .35;
    }
    size = { w: x.hop + hopColumns * (width.hop + GAP) - GAP + 14, h: 34 + Math.max(row, 1) * ROW + 10 };

    const old = svg;
    focus = focus || canvas.contains(document.activeElement);
    svg = document.createElementNS(SVG, 'svg');
    set(svg, { viewBox: '0 0 ' + size.w + ' ' + size.h, role: 'tree', 'aria-label': 'Map of egress', 'aria-describedby': 'keys' });
    draw(svg, 'title', {}, 'Map of egress');
    draw(svg, 'desc', {}, 'From the namespaces of clients over hosts and ports to the DestinationRules that decide, hop by hop. The section Effective policy tells the same as tables.');
    const heads = [[x.group, by === 'owner' ? 'Defined in' : 'Clients in'], [x.host, 'Host'], [x.port, 'Port']];
    if (splitViews) heads.push([x.view, 'Seen from']);
    for (let i = 0; i < hopColumns; i++) heads.push([x.hop + i * (width.hop + GAP), hopColumns > 1 ? 'Hop ' + (i + 1) : 'DestinationRule']);
    for (const [hx, text] of heads) draw(svg, 'text', { class: 'col', x: hx, y: 18, 'aria-hidden': 'true' }, text);
    for (const [a, b] of edges) {
      const x1 = a.x + a.w, y1 = a.y + NODE / 2, x2 = b.x, y2 = b.y + NODE / 2, mid = x2 - GAP / 2;
      draw(svg, 'path', { class: 'edge', 'aria-hidden': 'true', d: Math.abs(y1 - y2) < 1 ? `M${x1} ${y1}H${x2}` : `M${x1} ${y1}H${mid}V${y2}H${x2}` });
    }
    for (const n of nodes) drawNode(n);
    if (!byId.has(state.current)) state.current = nodes.length ? nodes[0].id : '';
    canvas.replaceChildren(svg);
    if (old === null) fit(true); else scale();
    $('mapcount').textContent = (total === hosts.length ? plural(total, 'host') : total + ' of ' + plural(hosts.length, 'host')) + ' in ' + plural(list.length, 'group') + (shown < total ? ', ' + shown + ' shown' : '');
    mark();
    roam(focus);
  }
  const high = n => n.kind === 'group' || n.stacked ? NODE + 14 : NODE;

  function drawNode(n) {
    const cls = ['node', n.kind, n.worst, n.own ? 'own' : ''].filter(Boolean).join(' ');
    const h = high(n);
    const g = draw(svg, 'g', { class: cls, transform: `translate(${n.x} ${n.y})` });
    const item = draw(g, 'g', {
      class: 'item', id: 'n-' + n.id, role: 'treeitem', tabindex: -1, 'aria-level': n.level, 'aria-expanded': n.expanded,
      'aria-label': n.label + (n.worst ? '; ' + plural(n.found.length, 'finding') + ', worst ' + n.worst : ''),
    });
    n.g = g;
    n.item = item;
    draw(item, 'title', {}, n.label);
    draw(item, 'rect', { width: n.w, height: h, rx: 4 });
    // What is written on it is beside the item, and hidden from readers of the screen: the item's label says it in words.
    const left = n.kind === 'group' ? 24 : 9, count = n.worst ? String(n.found.length) : '', right = n.w - 8 - (count ? count.length * 7 + 16 : 0);
    draw(g, 'text', { class: n.mono ? 'mono' : null, x: left, y: 16.5, 'aria-hidden': 'true' }, cut(n.text, right - left - (count ? 4 : 0), n.mono ? 'mono' : n.kind === 'group' ? 'bold' : 'sans'));
    if (n.kind === 'group') draw(g, 'path', { class: 'edge', d: n.expanded ? 'M9 10l4 4 4-4' : 'M11 8l4 4-4 4' });
    if (count) {
      shape(g, n.worst, right + 6, 12);
      draw(g, 'text', { class: 'cnt', x: right + 15, y: 16, 'aria-hidden': 'true' }, count);
    }
    if (n.sub && h > NODE) draw(g, 'text', { class: 'sub', x: left, y: 31, 'aria-hidden': 'true' }, cut(n.sub, n.w - left - 8, 'sub', n.keepEnd));
  }
  function shape(g, severity, cx, cy) {
    const d = {
      error: `M${cx - 2} ${cy - 5}h4l3 3v4l-3 3h-4l-3-3v-4z`,
      warning: `M${cx} ${cy - 5}l5.5 10h-11z`,
      info: `M${cx - 4} ${cy}a4 4 0 1 0 8 0a4 4 0 1 0-8 0z`,
    }[severity];
    draw(g, 'path', { class: 'shape ' + severity, d });
  }

  function mark() {
    const rules = new Set((byId.get(state.selected) || {}).rules || []);
    for (const n of nodes) {
      const on = n.id === state.selected;
      n.g.classList.toggle('sel', on);
      n.item.setAttribute('aria-selected', on);
      n.g.classList.toggle('kin', !on && n.kind === 'rule' && n.rules.some(r => rules.has(r)));
    }
  }
  // roam makes one node the one that Tab reaches.
  function roam(focus) {
    for (const n of nodes) n.item.setAttribute('tabindex', n.id === state.current ? 0 : -1);
    if (focus && byId.has(state.current)) {
      const n = byId.get(state.current);
      reveal(n);
      n.item.focus({ preventScroll: true });
    }
  }
  function reveal(n) {
    const z = state.zoom, pad = 24;
    const l = n.x * z, t = n.y * z, r = (n.x + n.w) * z, b = (n.y + high(n)) * z;
    if (l < canvas.scrollLeft + pad) canvas.scrollLeft = l - pad;
    else if (r > canvas.scrollLeft + canvas.clientWidth - pad) canvas.scrollLeft = Math.min(l - pad, r + pad - canvas.clientWidth);
    if (t < canvas.scrollTop + pad) canvas.scrollTop = t - pad * 2;
    else if (b > canvas.scrollTop + canvas.clientHeight - pad) canvas.scrollTop = b + pad * 2 - canvas.clientHeight;
  }
  function scale() {
    set(svg, { width: Math.round(size.w * state.zoom), height: Math.round(size.h * state.zoom) });
  }
  function zoomTo(z, cx = canvas.clientWidth / 2, cy = canvas.clientHeight / 2) {
    z = Math.min(2.5, Math.max(.25, z));
    const k = z / state.zoom, left = (canvas.scrollLeft + cx) * k - cx, top = (canvas.scrollTop + cy) * k - cy;
    state.zoom = z;
    scale();
    canvas.scrollLeft = left;
    canvas.scrollTop = top;
  }
  // fit makes the map as wide as there is room, but at first not smaller than can be read.
  function fit(first) {
    const z = (canvas.clientWidth - 4) / size.w;
    state.zoom = Math.min(1, Math.max(first ? .85 : .25, z));
    scale();
    canvas.scrollLeft = 0;
  }

  function activate(n) {
    state.current = n.id;
    if (n.kind === 'group') {
      open.set(n.key, n.expanded ? 0 : PAGE);
      render(true);
    } else if (n.kind === 'more') {
      open.set(n.key, (open.get(n.key) || PAGE) + PAGE);
      render(true);
    } else {
      state.from = -1;
      select(/^h\d+(p\d+(v\d+(x\d+)?)?)?/.exec(n.id)[0]);
      roam(true);
    }
  }
  function move(n) {
    if (!n) return;
    state.current = n.id;
    roam(true);
  }
  canvas.addEventListener('click', e => {
    const g = e.target.closest('.node');
    if (g && !dragged) activate(byId.get(g.firstElementChild.id.slice(2)));
  });
  canvas.addEventListener('keydown', e => {
    const n = byId.get(state.current), i = nodes.indexOf(n);
    if (!n || e.ctrlKey || e.metaKey || e.altKey) return;
    const pan = { ArrowUp: [0, -80], ArrowDown: [0, 80], ArrowLeft: [-80, 0], ArrowRight: [80, 0] }[e.key];
    if (e.shiftKey && pan) {
      canvas.scrollLeft += pan[0];
      canvas.scrollTop += pan[1];
      e.preventDefault();
      return;
    }
    switch (e.key) {
      case 'ArrowDown': move(nodes[i + 1]); break;
      case 'ArrowUp': move(nodes[i - 1]); break;
      case 'Home': move(nodes[0]); break;
      case 'End': move(nodes[nodes.length - 1]); break;
      case 'ArrowRight':
        if (n.kind === 'group' && !n.expanded) activate(n);
        else if (nodes[i + 1] && nodes[i + 1].parent === n) move(nodes[i + 1]);
        break;
      case 'ArrowLeft':
        if (n.kind === 'group' && n.expanded) activate(n);
        else move(n.parent);
        break;
      case 'Enter': case ' ': activate(n); break;
      case '+': case '=': zoomTo(state.zoom * 1.2); break;
      case '-': zoomTo(state.zoom / 1.2); break;
      case '0': fit(false); break;
      default: return;
    }
    e.preventDefault();
  });
  canvas.addEventListener('wheel', e => {
    if (!e.ctrlKey) return;
    e.preventDefault();
    const r = canvas.getBoundingClientRect();
    zoomTo(state.zoom * Math.exp(-e.deltaY / 400), e.clientX - r.left, e.clientY - r.top);
  }, { passive: false });
  let grip = null, dragged = false;
  canvas.addEventListener('pointerdown', e => {
    dragged = false;
    if (e.pointerType !== 'mouse' || e.button !== 0) return; // fingers scroll by themselves
    grip = { x: e.clientX, y: e.clientY, left: canvas.scrollLeft, top: canvas.scrollTop };
  });
  addEventListener('pointermove', e => {
    if (!grip) return;
    const dx = e.clientX - grip.x, dy = e.clientY - grip.y;
    if (Math.abs(dx) + Math.abs(dy) > 4) { dragged = true; canvas.classList.add('drag'); }
    if (dragged) { canvas.scrollLeft = grip.left - dx; canvas.scrollTop = grip.top - dy; }
  });
  addEventListener('pointerup', () => { grip = null; canvas.classList.remove('drag'); });

  $('mapform').addEventListener('submit', e => e.preventDefault());
  $('mq').addEventListener('input', later(() => render(), 100));
  $('group').addEventListener('change', () => render());
  $('bad').addEventListener('change', () => render());
  const all = n => { for (const g of groups().list) open.set(g.key, n); render(); };
  $('expand').addEventListener('click', () => all(PAGE));
  $('collapse').addEventListener('click', () => all(0));
  $('in').addEventListener('click', () => zoomTo(state.zoom * 1.25));
  $('out').addEventListener('click', () => zoomTo(state.zoom / 1.25));
  $('fit').addEventListener('click', () => fit(false));

  // ---- the policy of a host ---------------------------------------------------------------------------------------------
  const panel = $('panel'), choose = $('host');
  for (const h of [...hosts].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.i - b.i))) {
    add(choose, 'option', { value: h.i }, h.name + (data.scopes && h.scope ? ' (' + h.scope + ')' : '') + (h.worst ? ' — ' + h.worst : ''));
  }
  const placed = r => [refText(r), ' ', add(null, 'code', { class: 'place dim' }, refPlace(r))];

  function findingList(found) {
    const ul = add(null, 'ul', { class: 'found' });
    for (const f of found.slice(0, 50)) {
      const h3 = findings[f].querySelector('h3');
      const a = add(null, 'a', { href: '#' + findings[f].id, class: 't' }, findings[f].dataset.r + ' ' + h3.textContent);
      a.addEventListener('click', e => { e.preventDefault(); showFinding(f); });
      add(ul, 'li', {}, add(null, 'span', { class: 'sev ' + severityOf[f] }, severityOf[f]), a);
    }
    if (found.length > 50) add(ul, 'li', {}, (found.length - 50) + ' more');
    return ul;
  }

  // breakable lets a path be broken at its dots.
  const breakable = path => path.split(/(?<=\.)/).flatMap((part, i) => (i ? [document.createElement('wbr'), part] : [part]));
  function policyTable(hop, caption, onlySet) {
    const table = add(null, 'table', { class: 'policy' });
    add(table, 'caption', { class: 't' }, caption);
    const cols = add(table, 'colgroup');
    for (let i = 1; i <= 4; i++) add(cols, 'col', { class: 'c' + i });
    const head = add(add(table, 'thead'), 'tr');
    for (const name of ['Field', 'Value', 'From', 'Envoy']) add(head, 'th', { scope: 'col' }, name);
    const body = add(table, 'tbody');
    let left = 0;
    for (const i of hop.fields) {
      const [name, value, source, envoy, flags] = data.fields[i];
      const inert = flags & 5, isDefault = flags & 2; // 1 = no effect, 4 = ignored
      if (onlySet && isDefault) { left++; continue; }
      const tr = add(body, 'tr', { class: [inert ? 'inert' : '', isDefault ? '' : 'own'].filter(Boolean).join(' ') || null });
      add(tr, 'th', { scope: 'row', class: 't' }, ...breakable(T(name)));
      const td = add(tr, 'td', { class: 't' });
      if (inert) td.append(add(null, 's', {}, T(value)), ' ', add(null, 'span', { class: 'kind' }, flags & 4 ? 'ignored by Istio' : 'no effect'));
      else td.append(T(value));
      add(tr, 'td', { class: 't' }, T(source));
      add(tr, 'td', {}, T(envoy) ? add(null, 'code', { class: 't' }, ...breakable(T(envoy))) : '');
    }
    if (left) add(body, 'tr', { class: 'inert' }, add(null, 'td', { colspan: 4 }, plural(left, 'default') + ' not shown'));
    return table;
  }

  // hostPanel builds what is known of a host. Levels of headings begin at 3.
  function hostPanel(host, onlySet, forPaper) {
    const out = add(null, 'div', { class: 'hostpanel' });
    const head = add(out, 'div', { class: 'hosthead' }, add(null, 'h3', {}, host.name));
    if (!forPaper) {
      const b = add(head, 'button', { type: 'button' }, 'Show in the map');
      b.addEventListener('click', () => goTo(state.selected && hostOf(state.selected) === host ? state.selected : host.id));
      if (state.from >= 0) {
        const back = add(head, 'button', { type: 'button', id: 'back' }, 'Back to the finding');
        const from = state.from;
        back.addEventListener('click', () => showFinding(from));
      }
    }
    const about = add(out, 'dl', { class: 'about' });
    const fact = (name, ...value) => { add(about, 'dt', {}, name); add(about, 'dd', { class: 't' }, ...value); };
    if (data.scopes && host.scope) fact('Mesh', host.scope);
    fact('Clients in', host.clients);
    fact('Defined by', ...(host.entries.length ? host.entries.flatMap((r, i) => [i ? ', ' : '', ...placed(r)]) : ['nothing in view']));
    for (const n of host.notes) fact('Note', n);
    if (host.found.length) {
      add(out, 'p', { class: 'dim' }, plural(host.found.length, 'finding') + (forPaper ? '' : ':'));
      if (!forPaper) out.append(findingList(host.found));
    }
    if (!host.ports.length) add(out, 'p', { class: 'note' }, 'It has no ports, so there is nothing to tell.');
    for (const port of host.ports) {
      for (const view of port.views) {
        const title = 'Port ' + port.title;
        if (!view.hops.length) {
          const box = add(out, 'div', { class: 'hop', id: forPaper ? null : 'w-' + view.id });
          add(box, 'h4', {}, title, add(null, 'span', { class: 'dim' }, 'clients in ' + view.clients));
          add(add(box, 'div', { class: 'how' }), 'p', { class: 't' }, view.note || 'Nothing is known of a connection.');
        }
        view.hops.forEach((hop, l) => {
          const box = add(out, 'div', { class: 'hop' + (!forPaper && state.selected === hop.id ? ' sel' : ''), id: forPaper ? null : 'w-' + hop.id });
          add(box, 'h4', {}, title, add(null, 'span', { class: 'dim' }, 'clients in ' + view.clients), view.hops.length > 1 ? add(null, 'span', {}, 'hop ' + (l + 1) + ' of ' + view.hops.length) : null,
            add(null, 'span', { class: 'dim' }, hop.proxy + (hop.cluster ? ' →' : '')), add(null, 'code', {}, hop.cluster));
          const how = add(box, 'div', { class: 'how' });
          const rules = hop.rules.length ? hop.rules.flatMap((r, i) => [i ? ', then ' : '', ...placed(r)]) : ['defaults: no DestinationRule is for it'];
          add(how, 'p', { class: 't' }, 'Decided by ', ...rules);
          if (hop.routes.length) add(how, 'p', { class: 't' }, 'Routed by ', ...hop.routes.flatMap((r, i) => [i ? ', ' : '', ...placed(r)]));
          const facts = hop.facts.length ? add(how, 'ul') : null;
          for (const c of hop.facts) add(facts, 'li', { class: 't' }, c);
          if (hop.fields.length) {
            const name = 'Policy for port ' + port.title + (view.hops.length > 1 ? ', hop ' + (l + 1) : '');
            const table = policyTable(hop, name, onlySet);
            add(box, 'div', forPaper ? { class: 'scroll' } : { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': name + ', clients in ' + view.clients }, table);
          }
        });
      }
    }
    return out;
  }

  function showPanel() {
    const host = hostOf(state.selected);
    choose.value = host.i;
    panel.replaceChildren(hostPanel(host, $('set').checked, false));
  }
  function select(id) {
    state.selected = id;
    showPanel();
    mark();
  }
  // goTo opens the way to a node and puts the focus on it.
  function goTo(id) {
    const host = hostOf(id);
    const find = () => groups().list.find(g => g.hosts.includes(host));
    let g = find();
    if (!g) { $('mq').value = ''; $('bad').checked = false; g = find(); }
    open.set(g.key, Math.max(open.get(g.key) || PAGE, Math.ceil((g.hosts.indexOf(host) + 1) / PAGE) * PAGE));
    state.selected = id;
    state.current = id;
    render();
    if (!byId.has(id)) { // a view that only the table has
      state.current = host.id;
      state.selected = host.id;
      mark();
    }
    showPanel();
    canvas.scrollIntoView({ block: 'center' });
    roam(true);
  }
  choose.addEventListener('change', () => { state.from = -1; select('h' + choose.value); });
  $('set').addEventListener('change', showPanel);
  $('hostform').addEventListener('submit', e => e.preventDefault());

  for (const [f, ids] of leads) {
    const span = findings[f].querySelector('.tomap');
    if (!span) continue;
    for (const id of ids.slice(0, 3)) {
      const h = hostOf(id), p = /p(\d+)/.exec(id);
      const b = add(span, 'button', { type: 'button', class: 'link t', 'data-node': id }, 'Show in the map: ' + h.name + (p ? ', port ' + h.ports[+p[1]].title : ''));
      b.addEventListener('click', () => { state.from = f; goTo(id); });
    }
    if (ids.length > 3) add(span, 'span', { class: 'dim' }, 'and ' + (ids.length - 3) + ' more');
  }

  // Paper gets the policy of the hosts that the map's filter leaves.
  const MAX_PAPER = 30;
  addEventListener('beforeprint', () => {
    const paper = $('paper');
    paper.replaceChildren();
    const list = groups().list.flatMap(g => g.hosts);
    for (const h of list.slice(0, MAX_PAPER)) paper.append(hostPanel(h, $('set').checked, true));
    if (list.length > MAX_PAPER) add(paper, 'p', { class: 'note' }, (list.length - MAX_PAPER) + ' more hosts are left out; filter the map to choose which are printed.');
  });
  addEventListener('afterprint', () => $('paper').replaceChildren());

  if (hosts.every(h => h.clients === hosts[0].clients) && new Set(hosts.map(h => h.owner)).size > 1) $('group').value = 'o';
  const worst = hosts.reduce((a, b) => ((RANK[b.worst] || 0) > (RANK[a.worst] || 0) ? b : a), hosts[0]);
  state.selected = worst.id;
  const start = groups().list.find(g => g.hosts.includes(worst));
  open.set(start.key, Math.ceil((start.hosts.indexOf(worst) + 1) / PAGE) * PAGE);
  render();
  if (byId.has(worst.id)) canvas.scrollTop = Math.max(0, (byId.get(worst.id).y - 60) * state.zoom);
  showPanel();
})();
