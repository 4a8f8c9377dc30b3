/** Messages as hospitals send them, written for these tests: nobody in them exists. */

function message(...segments: readonly string[]): string {
  return segments.map((segment) => `${segment}\r`).join("");
}

export const admission = message(
  "MSH|^~\\&|HIS|ST MARY^1.2.276.0.76.4.17^ISO|ENGINE|HUB|20260131083015.120+0100||ADT^A01^ADT_A01|MSG00001|P|2.5.1|||AL|NE|DEU|UNICODE UTF-8",
  "EVN|A01|20260131083000||SCHED^^^|U4711",
  "PID|1||4711^^^HIS^PI~990022^^^REGION&1.2.276.0.76.4.8&ISO^MR~A123456789^^^KVNR^NIIP||Müller^Jörg^K^^Dr.^^L~Meier^Jörg^^^^^B||19611231|M|||Hauptstr. 5\\T\\7^^Köln^^50667^DEU^H||+49 221 5551^PRN^PH~joerg@example.org^NET^Internet|||M|||||||||||||||N",
  "PV1|1|I|W3^312^1^ST MARY&1.2.276&ISO^^BED|E|||1001^Ärztin^Anna^^^Dr.||2002^Consult^Carl|MED||||1|||1001^Ärztin^Anna|S|V0099^^^HIS^VN|||||||||||||||||||||||||20260131083000",
  "IN1|1|PKV|101575519^^^^NIIP|Kasse \\E\\ Co|PF 10^^Bonn^^53111|||||||20260101",
  "ZBE|8891^HIS|20260131083000||INSERT|Y",
  "ZPI|1|free^text&here~twice|\\H\\bold\\N\\",
);

export const results = message(
  "MSH|^~\\&|LAB|CENTRAL|EHR|WARD 7|202601311412||ORU^R01|LAB-20260131-00077|P|2.3||||||8859/1",
  "PID|||00123||DOE^JANE||19700101|F",
  "OBR|1|P100|F100|24331-1^Lipid panel^LN|||202601311330|||||||||1234^ORDERING^DOC||||||202601311410|||F",
  "OBX|1|NM|2093-3^Cholesterol^LN||182|mg/dL|<200|N|||F",
  "OBX|2|NM|6690-2^Leukocytes^LN||6.7|10\\S\\3/uL|4.0-11.0|N|||F",
  `OBX|3|TX|REPORT^Report^L||${"No abnormality found in this line.\\.br\\".repeat(400)}||||||F`,
  "OBX|4|FT|NOTE^Note^L||first line\\.br\\second \\T\\ third~another paragraph~~last||||||F",
  `OBX|5|ED|PDF^Scan^L||^application^pdf^Base64^${"JVBERi0xLjQKJeLjz9MK".repeat(800)}||||||F`,
  "NTE|1|L|Sample was hemolytic \\X28\\slightly\\X29\\",
  "NTE|2|L|",
);

export const order = message(
  "MSH|^~\\&|OE|WARD 7|LAB|CENTRAL|20260131120000||ORM^O01|ORD0001|T|2.3.1||||||ASCII",
  "PID|1||5550001^5^M10^HOSP^MR||SMITH^WILL^^JR||19550505|M|||1 ROAD^^TOWN^ST^00001||(555)555-0001~(555)555-0002|||S||987654321",
  "ORC|NW|P200^OE||G1^OE|||^^^20260201080000^^R||20260131115900|777^CLERK|||W7^^^HOSP",
  "OBR|1|P200^OE||85025^CBC^CPT4~85027^CBC W/O DIFF^CPT4|||||||||||BLD&Blood&HL70070^^^LA&Left Arm|999^DOC^ORDERING",
  "DG1|1|I9|250.0^DIABETES^I9",
  'ZOR|""|keep me^as&I~am|',
);

/** Other separators, a trailing one for texts that are cut off, and a version that has it. */
export const otherSeparators = message(
  "MSH$%*!@#$APP$FAC$$$20260131$$ADT%A08%ADT_A01$ID 9$P$2.8",
  "PID$1$$77%%%X@1.2@ISO*78$$O!F!Brien|plain%Pat",
  "NTE$1$$cut off#",
);

/** As an editor, a script or a Windows share leaves them. */
export const withLineFeeds = admission.replaceAll("\r", "\n");
export const withBoth = order.replaceAll("\r", "\r\n");
export const unended = order.slice(0, -1);
/** CR ends the segments, and a text has line feeds of its own. */
export const feedsInText = results.replace("first line\\.br\\second", "first line\nsecond");

export const samples: Readonly<Record<string, string>> = {
  admission,
  results,
  order,
  otherSeparators,
  withLineFeeds,
  withBoth,
  unended,
  feedsInText,
};
