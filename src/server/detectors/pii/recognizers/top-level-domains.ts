/** Top-level domains of countries, and the common generic ones. */

const COUNTRIES =
  "ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bw by bz ca cc cd cf cg " +
  "ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es et eu fi fj fk fm fo fr ga gd ge gf gg gh gi " +
  "gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh ki km kn kp kr kw " +
  "ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx my mz na nc ne nf ng " +
  "ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb sc sd se sg sh si sk sl sm sn " +
  "so sr ss st su sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug uk us uy uz va vc ve vg vi vn vu wf ws " +
  "ye yt za zm zw";

const GENERIC =
  "com org net edu gov mil int arpa biz info name pro aero asia cat coop jobs mobi museum post tel travel xxx academy " +
  "accountant accountants actor agency apartments app art associates attorney auction audio auto band bank bar bargains " +
  "beauty beer best bet bid bike bingo bio black blog blue boutique broker build builders business buzz cab cafe camera camp " +
  "capital car cards care career careers cars casa cash casino catering center charity chat cheap church city claims " +
  "cleaning click clinic clothing cloud club coach codes coffee college community company computer condos construction " +
  "consulting contact contractors cool country coupons courses credit creditcard cricket cruises dance date dating day deals " +
  "degree delivery democrat dental dentist design dev diamonds diet digital direct directory discount doctor dog domains " +
  "download earth education email energy engineer engineering enterprises equipment estate events exchange expert exposed " +
  "express fail faith family fan fans farm fashion film finance financial fish fishing fit fitness flights florist flowers " +
  "football forsale forum foundation fun fund furniture futbol fyi gallery game games garden gift gifts gives glass global " +
  "gmbh gold golf google graphics gratis green gripe group guide guitars guru hair haus health healthcare help hockey " +
  "holdings holiday homes horse hospital host hosting house how icu immo immobilien industries ink institute insurance " +
  "insure international investments irish jetzt jewelry kaufen kim kitchen land law lawyer lease legal life lighting limited " +
  "limo link live llc loan loans lol london love ltd luxury maison management market marketing mba media memorial men menu " +
  "miami money monster mortgage movie ninja nyc observer one online organic page paris partners parts party pet photo photos " +
  "photography pics pictures pink pizza place plumbing plus poker press productions promo properties property pub quest " +
  "racing realty recipes red rehab reise reisen rent rentals repair report republican rest restaurant review reviews rich " +
  "rip rocks rodeo run sale salon school science services sexy shoes shop shopping show singles site ski soccer social " +
  "software solar solutions space sport store stream studio study style supplies supply support surf surgery systems tax " +
  "taxi team tech technology tennis theater tienda tips tires today tokyo tools top tours town toys trade training tube " +
  "university uno vacations ventures vet viajes video villas vin vip vision vodka vote voyage watch webcam website wedding " +
  "wiki win wine work works world wtf xyz yoga zone berlin hamburg koeln wien swiss bayern nrw ruhr saarland tirol quebec " +
  "scot wales cymru eus gal bzh corsica africa capetown durban joburg abudhabi arab";

/** Top-level domains that are also file extensions, or names in programs. */
const OF_FILES =
  "ac ai am as at bat by cc cd cf cs do id in info is java js la me md ml mo ms my name no pl pm ps py re rs run sh show so " +
  "st stream team text to top tools zip mov link live run work works page parts page post site store date day";

const ALL = new Set(`${COUNTRIES} ${GENERIC}`.split(" "));
const FILES = new Set(OF_FILES.split(" "));

/** Returns whether a label is a top-level domain. `label` is in lower case. */
export function isTopLevel(label: string): boolean {
  return ALL.has(label) || label.startsWith("xn--");
}

/** Returns whether the label is also a file extension: two labels with it are not a host by themselves. */
export function isTopLevelOfFiles(label: string): boolean {
  return FILES.has(label);
}
