/** Colours that can be told apart on both grounds; the roles' also by those who see no red or no green. */
export const reportStyle = `
:root { color-scheme: light dark; --ground: #ffffff; --ink: #1c2330; --quiet: #5b6675; --line: #d9dee5; --there: #eef1f5;
  --fault: #8a5a00; --gap: #c2410c; --bad: #b91c1c; --good: #15693a;
  --role0: #0060a8; --role1: #b06000; --role2: #007a5e; --role3: #a3386f; --role4: #5b4bb3; --role5: #6b7280; --role6: #7a6a00; --role7: #00798c; }
@media (prefers-color-scheme: dark) { :root { --ground: #12161d; --ink: #e6eaf0; --quiet: #9aa6b5; --line: #2c3542; --there: #1d2430;
  --fault: #d9a441; --gap: #fb923c; --bad: #f87171; --good: #4ade80;
  --role0: #5ab0f0; --role1: #f0a548; --role2: #3ccfa8; --role3: #e883b5; --role4: #a99bf5; --role5: #a3adba; --role6: #d6c445; --role7: #4cc9dc; } }
body { margin: 2rem; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
p { max-width: 46rem; } .quiet { color: var(--quiet); } .good { color: var(--good); } .bad { color: var(--bad); font-weight: 600; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--quiet); font-weight: 500; } .tables { display: flex; flex-wrap: wrap; gap: 0 3rem; }
.key { display: inline-block; width: .8rem; height: .8rem; border-radius: 2px; margin: 0 .35rem 0 1rem; vertical-align: -1px; }
svg { display: block; font: 11px system-ui, sans-serif; }
svg .label { fill: var(--ink); text-anchor: end; } svg .scale { fill: var(--quiet); text-anchor: middle; }
svg .grid { stroke: var(--line); } svg .there { fill: var(--there); } svg .fault { fill: var(--fault); } svg .gap { fill: var(--gap); }
svg .violation { stroke: var(--bad); stroke-width: 2; opacity: .6; }
${Array.from({ length: 8 }, (_, index) => `.role${index} { fill: var(--role${index}); background: var(--role${index}); }`).join("\n")}
`;
