/** Four valid values and four with one wrong character, for each check algorithm. */

interface Values {
  readonly valid: readonly string[];
  readonly invalid: readonly string[];
}

export const TABLE: Readonly<Record<string, Values>> = {
  luhn: {
    valid: ["8778932879217427", "80967920", "0810033907579383471", "17468141"],
    invalid: ["0810033907571383471", "8778332879217427", "8326616600494030", "3076761934510"],
  },
  verhoeff: {
    valid: ["262243933285", "6791604", "1084363", "69748212372"],
    invalid: ["6792604", "991432014671", "8791604", "0024509"],
  },
  iso7064_mod11_10: {
    valid: ["96690911112", "46569777814", "88049170315", "79740542932"],
    invalid: ["96691911112", "82577356465", "82577356430", "88049180315"],
  },
  iban: {
    valid: [
      "SC73IRJV40039026605609513674YHB",
      "LC14DZXO9F73QT7D3MX97NS8QTGQNX8I",
      "FR133718489544CHFCFWC230H46",
      "DE47901384112835775355",
    ],
    invalid: [
      "NO7121179376469",
      "LC14DZXO9F73QT1D3MX97NS8QTGQNX8I",
      "NO7121179376412",
      "KW10EUTKIZBRN6TK5Y5RVTJ04JD5JV",
    ],
  },
  crc32_base62: {
    valid: [
      ["npm_", "8VVYpk4jdw2QmqgMs0pOr5uTzYe1XN4ZDnnB"].join(""),
      ["ghp_", "QxQw9FlAeOhAKDORXIHu3UJk7Jf9nw4AjY7x"].join(""),
      ["ghp_", "mT1bUwp2K6CBMDbFcjUcWESBvHPBwm4PnQcK"].join(""),
      ["ghr_", "yqZUsGVuPwzLgZnz5UtEP3Dy8ppOXo0s5G4M"].join(""),
    ],
    invalid: [
      ["npm_", "qVVYpk4jdw2QmqgMs0pOr5uTzYe1XN4ZDnnB"].join(""),
      ["ghp_", "QxQw9FlAeOhxKDORXIHu3UJk7Jf9nw4AjY7x"].join(""),
      ["ghp_", "mT1bUwp2K6CBMDbFcjUfWESBvHPBwm4PnQcK"].join(""),
      ["ghr_", "yqZUsGVuPwzLgZnz5UtEP3Dy8ppOXo0s5o4M"].join(""),
    ],
  },
  weighted_aba: {
    valid: ["030216615", "241924848", "159210453", "347766191"],
    invalid: ["159290453", "141542384", "241920848", "159213453"],
  },
  weighted_tfn: {
    valid: ["079244646", "325122552", "830251919", "490905287"],
    invalid: ["946655191", "830281919", "325102552", "946695191"],
  },
  weighted_pesel: {
    valid: ["82121845201", "87060927317", "63111960979", "70102665535"],
    invalid: ["55112648520", "82121875201", "47031830085", "73041946448"],
  },
  weighted_nhs: {
    valid: ["7797267936", "4453955537", "7079498538", "6759535375"],
    invalid: ["4577074080", "7079495538", "7079499538", "6027442519"],
  },
  weighted_bsn: {
    valid: ["131743818", "226780272", "368772913", "152878592"],
    invalid: ["344056340", "368702913", "368778913", "344056748"],
  },
  us_npi: {
    valid: ["1957057338", "1063168821", "1214704730", "1974579439"],
    invalid: ["2489848363", "1957857338", "1043168821", "1214704930"],
  },
  us_dea: {
    valid: ["MH5373775", "AE2907484", "MA1196218", "FD3503035"],
    invalid: ["BA0910040", "BA0910343", "AC5286798", "BA4416299"],
  },
  au_abn: {
    valid: ["57967958888", "33886191155", "52817386454", "11067752292"],
    invalid: ["50121130236", "37967958888", "12022509898", "31067752292"],
  },
  au_acn: {
    valid: ["646995824", "229416095", "970269795", "942696906"],
    invalid: ["646996824", "390126633", "298939506", "646999824"],
  },
  es_nif: {
    valid: ["88815384X", "06555429S", "10843467W", "12662827Q"],
    invalid: ["50599307S", "10843460W", "06595429S", "88805384X"],
  },
  es_nie: {
    valid: ["Z8267848C", "Y8186314F", "X8799090A", "Y4646051L"],
    invalid: ["X8799094A", "X1469452R", "Y6186314F", "X8628665F"],
  },
  it_fiscal_code: {
    valid: ["BNTVFL58R02I117C", "BNRRNL33S15A893K", "GTLGCR28B19A376A", "DSTGVL94L21B313J"],
    invalid: ["PBNGMS51M24G180O", "DSTGVL94L41B313J", "BNTVFL55R02I117C", "DSTGVL94L21B314J"],
  },
  it_vat: {
    valid: ["04023730684", "05123050766", "08259350885", "00698860772"],
    invalid: ["08576810387", "05123350766", "08576817397", "05123750766"],
  },
  sg_nric: {
    valid: ["F3680872K", "T1397373Z", "G6132776U", "T0043282I"],
    invalid: ["T3402544A", "T0043212I", "F3680892K", "G6182776U"],
  },
  sg_uen_a: {
    valid: ["55014033J", "41095141B", "72918227D", "79744250B"],
    invalid: ["72918221D", "55014093J", "79744252B", "55017033J"],
  },
  in_aadhaar: {
    valid: ["325566188126", "987340851206", "762251735820", "985973458153"],
    invalid: ["208256211379", "312133660231", "675322893659", "322133660221"],
  },
  in_gstin: {
    valid: ["33ABCPN1552F1Z4", "07ABCPL1401F1ZD", "33ABCPN1501F1ZF", "27ABCPN1206F1Z6"],
    invalid: ["07ABCPL1403F1ZD", "33ABCPN1522F1Z4", "01ABCPM1143F1Z5", "05ABCPP1025F1Z5"],
  },
  fi_hetu: {
    valid: ["080790-7430", "280594-561E", "070688-3445", "290398-074T"],
    invalid: ["220421-1685", "280594-563E", "220451-1685", "250493-9949"],
  },
  kr_rrn: {
    valid: ["8302211013782", "5402062083118", "9701082021376", "6207101087992"],
    invalid: ["6207108087992", "3207101087992", "6607271840001", "5112241072561"],
  },
  kr_brn: {
    valid: ["1248132388", "1248195063", "1248197950", "1248114037"],
    invalid: ["1248199950", "1248107950", "1248100699", "1548197950"],
  },
  th_tnin: {
    valid: ["2309065216981", "2504304609868", "2166961489023", "1049104260536"],
    invalid: ["4804293827371", "1049104260538", "1049104265536", "2309065206981"],
  },
  tr_tckn: {
    valid: ["92212571560", "13493458388", "81674734910", "14727035436"],
    invalid: ["14727035446", "92212531560", "26687496886", "44727035436"],
  },
  de_tax_id: {
    valid: ["84710637525", "65011324872", "76283045713", "52747876135"],
    invalid: ["95641920434", "84710639525", "76283145713", "84760637525"],
  },
  de_vat: {
    valid: ["DE355814506", "DE177070212", "DE177434903", "DE365739999"],
    invalid: ["DE290580061", "DE355814503", "DE365738999", "DE167434903"],
  },
  de_kvnr: {
    valid: ["X991217973", "N290109367", "W912132000", "Z749865231"],
    invalid: ["J468158578", "Z749865232", "N290100367", "H152392584"],
  },
  de_rvnr: {
    valid: ["15201165C932", "15140171C502", "15271283C170", "15290268A594"],
    invalid: ["15771283C170", "15238064C549", "15130395H966", "15140495H966"],
  },
  icao9: {
    valid: ["R8V8XT4G4", "MHWYYN4X7", "JX8WF5P38", "ML09468P9"],
    invalid: ["JX8WF5P35", "NWNT8XGH8", "ML49468P9", "V4CMZZK68"],
  },
  fr_nir: {
    valid: ["170106167595716", "153074583209504", "283016095803484", "176109123111873"],
    invalid: ["176109123171873", "165025076221478", "153074543209504", "176109123111878"],
  },
  br_cpf: {
    valid: ["17769702925", "65595163500", "60836642414", "61060445972"],
    invalid: ["35595163500", "68867867757", "84129606696", "17769702920"],
  },
  br_cnpj: {
    valid: ["22683317000102", "97834584000132", "06950222000151", "02749471000122"],
    invalid: ["22907772000744", "02749471000121", "56144748000128", "22957772000144"],
  },
  br_cnpj_alnum: {
    valid: ["97T9S8ST4VQ503", "30GX6MWT749M37", "S6P9WLWJSLHX40", "B86DNQVX1YG807"],
    invalid: ["R5VGLLCQKKKU76", "B86DNQVX1YG817", "S6P9WLWJSLHX49", "70GX6MWT749M37"],
  },
  za_id: {
    valid: ["5101286499083", "9102125075080", "8206250407082", "6305298092187"],
    invalid: ["8606250407082", "6305298092185", "7701014336189", "9102125005080"],
  },
  sa_national_id: {
    valid: ["1335725501", "1145596217", "1295879348", "2449397948"],
    invalid: ["1145496217", "2449397748", "2449327948", "7376198964"],
  },
  ae_emirates_id: {
    valid: ["784197775974443", "784198136174400", "784197379688613", "784197603493681"],
    invalid: ["784197775975443", "784195032935483", "784197603493686", "784197603493687"],
  },
  kw_civil_id: {
    valid: ["253072826528", "294060931241", "294102668745", "293020960756"],
    invalid: ["290570932979", "293020980756", "293020962756", "278050863034"],
  },
  btc_base58check: {
    valid: [
      "3CB9GdR4T4YwJFJHmustqmE9bASrcjW3QK",
      "18w3fuhbzPyQqK9pG4VJWGKUeRjzWvvsA6",
      "1KFs3u9Y5nHYXfwCzWEtAW7zNWjfMvTxHe",
      "322z4ct7qqLxWqQp32MJecmHPwvvew6MnX",
    ],
    invalid: [
      "3CB9GdR4T4YwJFJHmustqmE9bASrcj73QK",
      "34PHaL8BQS1r4AiykNS3SzwvervFhxgoVj",
      "36NPXWLK4gGzEVz72yhGk5yTbKWx2Bsgne",
      "1NHtFfDFio25sbbfWeyVwPj6pg8GXJNbMP",
    ],
  },
  btc_bech32: {
    valid: [
      "bc1qlz82fupysw2pzhevtmrrhmkrdarc7jg8hz8gm5",
      "bc1p6y407apykysg0htan9e02qdze7j23exrw5yqemx68uzlqlhsqmasxa6ywe",
      "bc1qvq3hs2sjc9xpwrpasgjjtcvhttktmxr9nj3lqu",
      "bc1ph58hgk778nc3surxdrrashrldmucnqmqeuw45q08mmaacm2qkqgsnjfuqw",
    ],
    invalid: [
      "bc1qlz82fupysw2pzhevtmrrhmxrdarc7jg8hz8gm5",
      "bc1p6y407apykysg0htau9e02qdze7j23exrw5yqemx68uzlqlhsqmasxa6ywe",
      "bc1qvq3hs2sjc9xpwrpasgjjtcv6ttktmxr9nj3lqu",
      "bc1ph58hgk778nc3surxdrrashrldmucnqmqeuw45q08mmaacm2qkmgsnjfuqw",
    ],
  },
};
