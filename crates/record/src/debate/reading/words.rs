//! The words that models use for severities, verdicts and sections, in the languages that they write.
//!
//! A list is a string of words between `|`. A word counts where it stands alone; one that ends in `*` begins a word; one
//! that ends in `$` has to be all there is left of a phrase. Chinese, Japanese and Korean are written without spaces, so
//! their words count anywhere. A word behind `~` is an everyday word: it counts only where a verdict is expected.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use super::{Response, Standing};

/// A list of words, in the form above.
pub(super) struct List {
    words: &'static str,
    index: OnceLock<Index>,
}

/// The words of a list by their first character, in the order of the characters.
struct Index {
    beginnings: Beginnings,
    words: Vec<(char, Vec<Word>)>,
}

/// What tells that a place in a text begins none of some words: most do.
struct Beginnings {
    /// A bit for each byte that a word of less than three bytes begins with.
    short: [u64; 4],
    /// A bit for each beginning of three bytes, by [`place`].
    long: [u64; 64],
}

/// A word of a list without its marks.
struct Word {
    stem: &'static str,
    end: End,
    is_everyday: bool,
}

/// What may follow a word.
enum End {
    Word,
    Letters,
    Nothing,
}

impl Index {
    fn of(list: &'static str) -> Self {
        let mut words: BTreeMap<char, Vec<Word>> = BTreeMap::new();
        for word in list.split('|') {
            let bare = word.trim_start_matches('~');
            let end = match bare.as_bytes().last() {
                Some(b'*') => End::Letters,
                Some(b'$') => End::Nothing,
                _ => End::Word,
            };
            let word = Word { stem: bare.trim_end_matches(['*', '$']), end, is_everyday: bare.len() < word.len() };
            if let Some(first) = word.stem.chars().next() {
                words.entry(first).or_default().push(word);
            }
        }
        let beginnings = Beginnings::of(words.values().flatten().map(|word| word.stem));
        Self { beginnings, words: words.into_iter().collect() }
    }
}

impl Beginnings {
    fn of(words: impl Iterator<Item = &'static str>) -> Self {
        let (mut short, mut long) = ([0; 4], [0; 64]);
        for word in words {
            match word.as_bytes() {
                [first, second, third, ..] => {
                    let at = place([*first, *second, *third]);
                    long[at / 64] |= 1 << (at % 64);
                }
                [first, ..] => short[usize::from(*first) / 64] |= 1 << (first % 64),
                [] => {}
            }
        }
        Self { short, long }
    }

    /// Of the words of several lists.
    fn of_lists<'a>(lists: impl IntoIterator<Item = &'a List>) -> Self {
        let words = lists.into_iter().flat_map(|list| list.index().words.iter().flat_map(|(_, words)| words));
        Self::of(words.map(|word| word.stem))
    }

    /// Whether a word may begin here; where this says no, none does.
    fn may_begin(&self, text: &[u8]) -> bool {
        let [first, rest @ ..] = text else { return false };
        let is_short = || self.short[usize::from(*first) / 64] >> (first % 64) & 1 == 1;
        let is_long = |second: u8, third: u8| {
            let at = place([*first, second, third]);
            self.long[at / 64] >> (at % 64) & 1 == 1
        };
        matches!(rest, [second, third, ..] if is_long(*second, *third)) || is_short()
    }
}

/// Where the bit of a beginning is. Letters differ in their lower five bits; what shares a bit is looked up in vain.
fn place([first, second, third]: [u8; 3]) -> usize {
    (usize::from(first) << 7 ^ usize::from(second) << 4 ^ usize::from(third)) & 0xfff
}

impl List {
    const fn new(words: &'static str) -> Self {
        Self { words, index: OnceLock::new() }
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::of(self.words))
    }
}

/// What a text calls a severity; what that means depends on the other words in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grade {
    Block,
    Grave,
    Middle,
    Low,
    /// A yellow mark, which is the middle of three or the last of them.
    Yellow,
}

pub(super) static GRADES: [(Grade, List); 5] = [
    (
        Grade::Block,
        List::new(
            "block*|blockier*|bloqu*|bloccant*|blokk*|bloke*|engelle*|show-stopper*|showstopper*|fatal*|must fix|impeditiv*|\
         блокир*|阻塞|阻断|阻碍|致命|ブロッカー|ブロッキング|ブロック|阻害|차단|치명|\u{1f534}|\u{26d4}|\u{1f6d1}|\u{1f6a8}",
        ),
    ),
    (
        Grade::Grave,
        List::new(
            "critical*|severe|high|highest|kritisch*|schwerwiegend*|schwer|schwere|gravierend*|hoch|hohe|critique$|élevé*|\
         grave|graves|crític*|critic*|alto|alta|ernstig*|hoog|krytyczn*|wysok*|kritik$|yüksek|критич*|высок*|严重|嚴重|\
         重大|深刻|심각|高$|높음",
        ),
    ),
    (
        Grade::Middle,
        List::new(
            "major*|medium*|moderate|moderately|moderat$|moderata|moderato|significant*|serious*|important*|substantial*|wesentlich*|erheblich*|bedeutend*|mittel*|\
         mäßig*|majeur*|moyen*|modéré*|significati*|importante*|mayor*|medi*|moderad*|maior*|médi*|principal*|maggior*|\
         rilevant*|groot*|gemiddeld*|istotn*|poważn*|średni*|önemli|orta|серьезн*|серьёзн*|значительн*|существенн*|важн*|\
         средн*|主要|重要|中等|中度|メジャー|주요|중요|中$|중간|\u{1f7e0}|\u{26a0}",
        ),
    ),
    (
        Grade::Low,
        List::new(
            "minor*|low|lowest|nit|nits|nitpick*|cosmetic*|trivial*|small|gering*|geringfügig*|klein*|leicht*|niedrig*|\
         kosmetisch*|unwesentlich*|mineur*|faible*|léger*|menor*|leve|leves|baja|bajo|baixa|baixo|minore|minori|lieve|\
         lievi|bassa|basso|cosmétic*|cosmetic*|drobn*|niski*|nisk*|küçük|düşük|незначительн*|мелк*|низк*|минорн*|\
         косметич*|次要|轻微|輕微|軽微|マイナー|些細|경미|사소|低$|小$|낮음|\u{1f7e2}|\u{1f535}|\u{26aa}",
        ),
    ),
    (Grade::Yellow, List::new("\u{1f7e1}")),
];

/// What is said of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Yes,
    Partly,
    No,
}

pub(super) static RESPONSES: [(Verdict, List); 3] = [
    (
        Verdict::Yes,
        List::new(
            "accept|accepts|accepted|accepting|~acceptance|adopt|adopted|adopting|~fixed|incorporated|~done|agree|agreed|\
         implemented|~addressed|~resolved|~applied|~corrected|~yes|~valid|~acknowledged|~integrated|~followed|followed|concede|conceded|\
         akzeptier*|~annehmen|nehme ich an|angenommen|übernommen|übernehme*|umgesetzt|~behoben|zugestimmt|stimme zu|\
         stimmen zu|~erledigt|~ja|~eingearbeitet|anerkannt|accepté|acceptée|acceptés|acceptées|j'accepte|j’accepte|adopté*|\
         retenu*|~corrigé*|~intégré*|d'accord|~oui|aceptad*|acepto|aceptamos|se acepta*|adoptad*|~corregid*|~incorporad*|\
         de acuerdo|~sí|aceit*|acato|acatad*|adotad*|~corrigid*|concordo|~sim|accettat*|accetto|accettiamo|accolt*|\
         adottat*|~corrett*|d’accordo|d'accordo|~recepit*|geaccepteerd*|aanvaard*|overgenomen|akkoord|przyjęt*|\
         zaakceptowan*|zgoda|kabul*|принят*|принима*|приняли|учтен*|учтён*|согласен|согласны|~исправлен*|~да|接受|采纳|採納|\
         已修复|已修改|已采用|同意|受け入れ*|受入|採用|採択|承認|受諾|対応済|反映|了承|수용|수락|반영|동의",
        ),
    ),
    (
        Verdict::Partly,
        List::new(
            "partly|partial|partially|in part|to some extent|half accepted|~mixed|teilweise*|zum teil|teils|partiel|partielle|\
         partiellement|en partie|parcial*|en parte|em parte|parzial*|in parte|gedeeltelijk|deels|częściow*|kısmen|частичн*|\
         отчасти|部分接受|部分采纳|部分同意|部分|一部|部分的|일부|부분",
        ),
    ),
    (
        Verdict::No,
        List::new(
            "reject|rejects|rejected|rejecting|decline|declined|declines|disagree|disagreed|won't change|won’t change|won't fix|\
         won’t fix|won't do|won’t do|wontfix|~won't|~won’t|~will not change|refuse|refused|~denied|dismissed|~no change|\
         ~not changed|~unchanged|no,|no:|no.|no;|no –|no —|no$|~out of scope|kept as is|left as is|turned down|~disputed|is not$|are not$|ablehn*|lehne|abgelehnt*|lehne ich ab|lehnen wir ab|\
         zurückgewiesen*|verworfen*|weise ich zurück|~nein|refusé*|refuse|rejeté*|rejette|écarté*|~non|rechaz*|descartad*|\
         en desacuerdo|rejeit*|recusad*|recuso|descartad*|discordo|~não|respint*|rifiut*|respingo|non accolt*|afgewezen|\
         verworpen|geweigerd|odrzucon*|odrzucam|reddedil*|ret|отклон*|отверг*|отказ*|не принят*|не принима*|не согласен|\
         ~нет|拒绝|拒絕|不接受|不采纳|不同意|驳回|未采纳|不采用|却下|拒否|不採用|見送*|受け入れない|受け入れません|\
         受け入れられ|採用しない|採用しません|採用せず|거부|거절|기각|반려|수용하지",
        ),
    ),
];

pub(super) static STANDINGS: [(Verdict, List); 3] = [
    (
        Verdict::Partly,
        List::new(
            "~partly|~partially|~partial|~in part|~teilweise|~partiellement|~parcialmente|~parzialmente|~частично|部分|一部|부분",
        ),
    ),
    (
        Verdict::Yes,
        List::new(
            "withdraw|withdraws|withdrew|withdrawn|withdrawing|retract|retracted|resolved|~fixed|settled|~closed|~addressed|\
         addressed|~dropped|~drop|~done|~satisfied|~ok|no longer applies|moot|obsolete|no longer relevant|zurückgezogen|zurückgenommen|ziehe ich zurück|ziehe|erledigt|behoben|\
         gelöst|ausgeräumt|hinfällig|fallen gelassen|retiré*|retire|levé*|résolu*|abandonné*|corrigé*|retirad*|retiro|\
         resuelt*|corregid*|subsanad*|resolvid*|sanad*|corrigid*|ritirat*|ritiro|risolt*|superat*|ingetrokken|opgelost|\
         vervallen|wycofan*|wycofuj*|rozwiązan*|geri çek*|çözüldü|снят*|снима*|отозван*|отзыва*|решен*|решён*|устранен*|\
         устранён*|исправлен*|закрыт*|撤回|撤销|撤銷|已解决|已解決|已修复|取り下げ|取下げ|得到解决|解决了|解決済|解消|解決され|解決し|\
         철회|해결",
        ),
    ),
    (
        Verdict::No,
        List::new(
            "maintain|maintains|maintained|maintaining|~stands|still stands|~still|still holds|~holds|~open|still open|\
         remains open|~remains|unresolved|unaddressed|~kept|uphold|upheld|persists|still applies|~unchanged|is not$|are not$|\
         insist|~reiterated|aufrechterhalten|aufrecht erhalten|halte|erhalte|aufrecht|besteht|~bleibt|~offen|weiterhin|\
         bleibt bestehen|halte ich aufrecht|maintenu*|maintiens|~ouvert*|reste|persiste*|subsiste|mantenid*|mantengo|se mantiene*|\
         ~mantiene|sigue|~abiert*|mantid*|mantenho|mantém|permanece|~aberto|~aberta|mantenut*|mantengo|rimane|resta|\
         ~apert*|gehandhaafd|blijft|utrzyman*|podtrzymuj*|geçerli|sürüyor|поддержива*|остается|остаётся|остаются|сохраня*|\
         в силе|остается в силе|остаётся в силе|остаются в силе|открыт*|не снят*|не решен*|维持|維持|坚持|保持|保留|仍然|仍|未解决|没有解决|未解決|继续|継続|残って|残る|유지|미해결",
        ),
    ),
];

/// May stand before an ordinal.
pub(super) static ARTICLES: List =
    List::new("the|my|die|der|das|mein|meine|la|le|il|el|o|a|ma|mon|mi|il mio|la mia|o meu|a minha");
/// What turns a verdict that follows within three words.
static NEGATORS: List =
    List::new("not|cannot|never|no|would|nicht|kein|keine|keinen|pas|non|não|nao|не|niet|geen|nie|hardly");
/// With a negator before them they turn a verdict half.
static DEGREES: List = List::new(
    "fully|entirely|completely|wholly|vollständig|ganz|völlig|entièrement|totalement|complètement|totalmente|\
                       completamente|del todo|pienamente|полностью|完全",
);

/// What a part of a text is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    /// Points that were raised before.
    Earlier,
    /// Praise, coverage, conclusions.
    Other,
    Points,
}

pub(super) static SECTIONS: [(Section, List); 3] = [
    (
        Section::Earlier,
        List::new(
            "earlier|previous|previously|prior|old|recheck*|re-check*|frühere*|bisherige*|vorherige*|antérieur*|précédent*|\
         anterior*|previas|previos|precedent*|eerdere|wcześniejsz*|önceki|предыдущ*|прежн*|ранее|之前|先前|此前|前回|以前|이전",
        ),
    ),
    (
        Section::Other,
        List::new(
            "strength*|positiv*|works well|work well|works|pros|praise|i like|i liked|like about|well done|done well|done right|\
         good|right|convincing|coverage|covered|fulfilled|checklist|check|requirements met|summary|overview|conclusion*|verdict|assessment|\
         recommendation*|recommend*|suggestion*|next steps|not objections|no objections|no objection|not an objection|taste|praised|appreciate*|\
         vorschläge|empfehlungen|sugerencias|recomendaciones|sugestões|recomendações|suggerimenti|raccomandazioni|предложения|рекомендации|建议|提案|stärken|gut|gelungen*|pluspunkte|abdeckung|abgedeckt*|zusammenfassung|fazit|points forts|forces|couverture|résumé|\
         synthèse|conclusion|fortalezas|puntos fuertes|aciertos|cobertura|resumen|conclusión|pontos fortes|forças|resumo|\
         conclusão|punti di forza|punti forti|pregi|copertura|riepilogo|conclusione|conclusioni|sterke punten|mocne strony|\
         güçlü yönler|достоинств*|сильные стороны|плюсы|покрытие|итог*|вывод*|резюме|优点|優點|优势|亮点|覆盖|总结|小结|结论|\
         長所|良い点|良かった|評価|強み|カバレッジ|網羅|まとめ|総評|結論|장점|강점|요약|결론",
        ),
    ),
    (
        Section::Points,
        List::new(
            "points|negatives|negative|cons|drawbacks|disadvantages|limitations|improve*|improvements|lacking|needs work|objection|objections|concern|concerns|issues|weakness|weaknesses|problems|findings|risks|gaps|flaws|critique|\
         criticism*|missing|shortcoming*|doubt|doubts|not covered|new|einwand|einwände|einwänden|kritikpunkte|schwächen|mängel|probleme|bedenken|\
         neue*|weitere*|nouveau*|nouvel*|objections|faiblesses|problèmes|réserves|critiques|objeciones|debilidades|problemas|\
         críticas|nuev*|reparos|objeções|fraquezas|ressalvas|nov*|obiezioni|debolezze|critiche|problemi|nuov*|bezwaren|nieuwe|\
         zastrzeżenia|uwagi|nowe|itirazlar|yeni|возражени*|замечани*|недостатк*|проблем*|слабые стороны|нов*|问题|問題|缺点|不足|反对|\
         异议|意见|新|指摘|懸念|課題|弱点|短所|異議|批判|문제|지적|이의|단점|새로운",
        ),
    ),
];

pub(super) static NEW: List =
    List::new("new|further|neue*|weitere*|nouve*|nuev*|nov*|nuov*|nieuwe|nowe|yeni|нов*|新|새로운");
/// Turns a text round to its objections after praise.
pub(super) static CONTRASTS: List = List::new(
    "that said|however|but|nevertheless|nonetheless|still|on the other hand|allerdings|jedoch|aber|\
                                    dennoch|cependant|toutefois|mais|néanmoins|sin embargo|pero|no obstante|no entanto|mas|porém|\
                                    tuttavia|ma|però|однако|но|但是|但|不过|然而|しかし|ただし|一方|하지만|그러나",
);
/// Names of one point, before its number: `Objection 2:`.
pub(super) static POINT_NAMES: List = List::new(
    "point|points|objection|issue|concern|problem|finding|weakness|flaw|gap|risk|revised point|new point|item|punkt|einwand|\
     kritikpunkt|problème|punto|objeción|problema|ponto|objeção|obiezione|punt|пункт|возражение|замечание|проблема|问题|問題|\
     异议|意见|指摘|異議|論点|第|문제",
);
/// What a heading may say besides a severity and still be no title of a point.
static FILLERS: List = List::new(
    "issue*|point*|objection*|concern*|problem*|finding*|severity|priority|level|gap|gaps|risk*|weakness*|and|or|the|\
                       new|main|key|my|of|nit*|einw*|punkt*|kritikpunkt*|mängel|und|probl*|objec*|objeç*|obiez*|punti|punto|puntos|\
                       ponto*|et|y|e|i|и|замечан*|возражен*|проблем*|问题|問題|异议|意见|指摘|点|的|な",
);
pub(super) static SEVERITY_FIELDS: List = List::new(
    "severity|priority|grade|gravity|level|impact|schwere|schweregrad|gewicht|gewichtung|stufe|priorität|gravité|sévérité|priorité|\
     niveau|gravedad|severidad|prioridad|nivel|gravidade|severidade|prioridade|gravità|priorità|livello|severità|ernst|waga|önem|\
     серьезность|серьёзность|важность|приоритет|критичность|严重程度|严重性|严重度|级别|等级|優先度|重大度|重要度|深刻度|심각도|중요도",
);
pub(super) static ABOUT_FIELDS: List = List::new(
    "requirement|requirements|concerns|part|where|affects|component|location|area|topic|aspect|section|title|anforderung|betrifft|\
     bereich|teil|exigence|concerne|partie|requisito|afecta|parte|componente|exigência|requerimiento|требование|часть|касается|要求|\
     部分|涉及|要件|該当箇所|対象|箇所|해당",
);
pub(super) static RESOLUTION_FIELDS: List = List::new(
    "what would resolve it|what would resolve this|resolved by|resolved if|resolved with|would resolve it|would resolve this|resolves it|resolve by|to resolve|resolution|fix|\
     suggested fix|proposed fix|remedy|recommendation|suggestion|solution|gelöst durch|behoben durch|erledigt durch|lösung|behebung|\
     abhilfe|vorschlag|à résoudre par|résolu par|résolution|correction|remède|se resuelve con|se resuelve|resuelto con|resuelto por|\
     se resolvería con|solución|remedio|resolvido por|resolvido com|resolve-se com|solução|correção|risolto da|risolto con|si risolve con|\
     si risolve|soluzione|rimedio|opgelost door|oplossing|rozwiązanie|çözüm|решение|решается|устранение|исправление|как исправить|\
     解决办法|解决方案|解决方法|解决方式|建议|解决|解決策|解決方法|解決案|対策|修正案|改善案|対応策|해결책|해결 방법|해결",
);
pub(super) static OBJECTION_FIELDS: List = List::new(
    "objection|objections|issue|problem|concern|finding|description|what goes wrong|weakness|point|einwand|kritik|problem|mangel|\
     beschreibung|objection|problème|objeción|problema|descripción|objeção|descrição|obiezione|descrizione|возражение|проблема|\
     замечание|описание|问题|問題|异议|描述|反对意见|指摘|内容|異議|問題点|문제|지적",
);
pub(super) static COVERED: List = List::new(
    "covered|met|yes|fulfilled|satisfied|ok|okay|pass|passed|fine|not an objection|no objection|erfüllt|\
                                  abgedeckt|ja|couvert|couverte|rempli|remplie|cubierto|cumplido|coberto|atendido|coperto|soddisfatto|\
                                  выполнено|покрыто|满足|已覆盖|符合|満たして",
);
pub(super) static NO_OBJECTION: List = List::new(
    "not an objection|no objection|not objections|isn't an objection|matter of taste|kein einwand|\
                                       keine einwände|geschmackssache|pas une objection|no es una objeción|não é uma objeção|\
                                       non è un'obiezione|不是反对意见|異議ではない|не возражение",
);
/// A list that only says that it is empty.
pub(super) static NONE: List = List::new(
    "none$|none to report$|nothing$|nil$|n/a$|keine$|keiner$|keines$|nichts$|entfällt$|aucun$|aucune$|néant$|rien$|\
                               ninguna$|ninguno$|nada$|nenhuma$|nenhum$|nessuna$|nessuno$|niente$|geen$|brak$|yok$|нет$|无$|無$|没有$|\
                               暂无$|なし$|特になし$|ありません$|없음$",
);
/// Says in words that there is nothing to object to.
static NOTHING: List = List::new(
    "nothing blocking|nothing major|nothing serious|nothing new|nothing critical|nothing to object|nothing to add|nothing further|nothing to criticize|nothing to criticise|nothing else to|lgtm|\
                       looks good to me|no remaining|nichts einzuwenden|nichts auszusetzen|nichts hinzuzufügen|habe ich nicht|\
                       rien à redire|rien à objecter|rien à ajouter|nada que objetar|nada que añadir|nada a objetar|nada a acrescentar|\
                       niente da obiettare|nulla da obiettare|nulla da aggiungere|не возражаю|возражений нет|возражений не имею|замечаний нет|\
                       возражений больше нет|замечаний больше нет|возражений не|замечаний не|没有异议|无异议|沒有異議|没有反对|没有新的|没有其他|没有进一步|没有意见|没有问题|没有更多|无新的|\
                       無異議|異議なし|異議はありません|異議はない|異論はありません|異論なし|指摘はありません|指摘事項はありません|指摘事項なし|\
                       問題はありません|問題ありません|特にありません|反対意見はありません|懸念はありません|新たな指摘はあり|이의 없|이의가 없|\
                       문제 없|문제가 없|반대 의견이 없|지적 사항이 없|itirazım yok",
);
/// Takes back the noun that follows.
static WITHOUT: List = List::new(
    "no|not|n't|without|zero|don't|don’t|cannot|can't|can’t|keine|keinen|kein|keinerlei|aucun|aucune|pas d'|pas d’|pas de|\
                       plus d'|plus d’|sin|ninguna|ningún|nenhuma|nenhum|sem|nessuna|nessun|senza|geen|brak|нет|никаких",
);
static OBJECTIONS: List = List::new(
    "objection|objections|objecting|points|point|concern|concerns|issues|issue|flaws|flaw|gaps|weaknesses|weakness|problems|\
                          findings|remarks|complaints|criticism|criticisms|reservations|comments|critique|critiques|einwände|\
                          einwand|einwänden|einwendungen|bedenken|punkte|kritikpunkte|mängel|anmerkungen|d'objection|d’objection|d'objections|d’objections|\
                          d'autre objection|d’autre objection|remarque|remarques|réserve|réserves|critiques|objeción|objeciones|reparo|\
                          reparos|observaciones|objeção|objeções|ressalva|ressalvas|observações|obiezione|obiezioni|rilievi|riserve|bezwaar|bezwaren|\
                          zastrzeżeń|uwag|возражений|замечаний",
);
static BETWEEN: List = List::new(
    "further|new|more|other|additional|remaining|open|blocking|major|minor|serious|significant|substantive|material|\
                       real|any|have|see|find|found|raise|particular|fundamental|strong|and|or|i|unresolved|weiteren|weitere|neuen|neue|nouvelle|\
                       autre|autres|nouvelles|nueva|nuevas|más|otras|novas|nova|outras|outra|nuove|nuova|altre|altra|ulteriori|tengo|tenho|have|\
                       ho|ninguna|nenhuma|nessuna|новых|других|серьезных|серьёзных|großen|wesentlichen|of|the|my|own|specific|outstanding|\
                       actual|genuine|valid|to|d'|critical|high|that|are|there|left|it",
);
/// Thanks and assent, which say nothing of a change.
static COURTESIES: List = List::new(
    "it$|this$|that$|change$|reason$|changes$|but|and|while|und|aber|good|great|fair|valid|excellent|nice|thank|thanks|agreed|noted|understood|correct|true|right|you are right|you're right|yes|ok|\
     okay|will do|fully agree|i agree|absolutely|indeed|important point|well spotted|makes sense|sure|danke|guter|gute|stimmt|richtig|\
     einverstanden|berechtigt|merci|bonne remarque|bon point|très bonne|d'accord|d’accord|juste|c'est vrai|gracias|buen|buena|de acuerdo|\
     cierto|correcto|obrigad|bom ponto|boa|concordo|correto|grazie|buon|buona|giusto|d'accordo|verissimo|vero|dank|goed punt|спасибо|верно|\
     согласен|согласны|хорошее замечание|справедливо|谢谢|感谢|好的|同意|说得对|很好的|有道理|ありがとう|ご指摘|おっしゃる|同意|その通り|감사|동의|\
     once more|again|in full|without reservation|as is|n/a|none|unchanged as proposed",
);

pub(super) static RESPONSE_SECTIONS: List = List::new(
    "response|responses|answers|answer to|answers to|replies|reply|rebuttal*|disposition|responding|critiques addressed|addressing|\
     antwort|antworten|erwiderung*|stellungnahme*|umgang mit|réponse|réponses|respuesta|respuestas|resposta|respostas|risposta|risposte|\
     antwoord*|reactie*|odpowiedź|odpowiedzi|cevap*|yanıt*|ответ|ответы|回应|回應|回复|答复|回答|応答|返答|への対応|答弁|답변|응답|대응",
);
pub(super) static CRITIQUE_NAMES: List = List::new(
    "critique|critic|reviewer|review|kritik|kritiker|crítica|crítico|critica|critiche|kritiek|krytyka|критика|критик|批评|批評|评论|비평|\
     reviewer no.|critique no.",
);
/// What a section of answers speaks of.
pub(super) static CRITIQUE_WORDS: List = List::new(
    "critique|critiques|critic|critics|criticism*|objection|objections|points|feedback|reviewer|reviewers|review|reviews|comments|kritik*|einwände|\
     einwänden|punkte|punkten|gutachten|critiques|objections|remarques|críticas|crítica|objeciones|objeções|critiche|obiezioni|kritiek|krytyk*|\
     критик*|замечани*|возражени*|批评|批評|意见|評論|评论|指摘|反対意見|비평|비판|지적",
);
/// May stand before the label that a line begins with.
pub(super) static LEAD_INS: List = List::new(
    "re|on|ad|as to|as for|regarding|concerning|to|zu|zu punkt|zum punkt|ad punkt|au|sur|sur le point|quant à|concernant|sobre|sobre el punto|\
     en cuanto a|quanto a|su|sul punto|по|по пункту|пункт|关于|對於|对于|针对|earlier point|previous point|prior point|answer to|response to|critique",
);
/// Begins a sentence that goes on about a point.
pub(super) static SUBJECTS: List = List::new(
    "i|we|it|this|that|therefore|so|hence|thus|ich|wir|es|dies|das|je|nous|il|cela|yo|lo|esto|eu|isto|io|questo|я|мы|это|我|我们|这|これ|the point|\
     the objection",
);
/// Joins labels that share an answer.
pub(super) static LINKS: List =
    List::new(",|/|&|+|;|and|und|et|y|e|i|и|en|ve|、|，|和|及|与|と|및|wie auch|sowie|as well as");
/// Joins the ends of a range of labels.
pub(super) static RANGES: List = List::new("-|–|—|to|through|bis|à|a|al|~|〜|～|至|到|から|…|..|по|tot");
/// Are spoken to by orders, never by answers.
pub(super) static ADDRESSEES: List =
    List::new("moderator|ledger|parser|the program|dear program|json|point on record|every point on record");
pub(super) static ORDERS: List =
    List::new("set|mark|record|treat|register|log|count|ignore|update|output|system|print|consider");
pub(super) static NEGATIONS: List = List::new("not|nicht|no|non|pas|não|не|niet|is|was|fully|the");
/// Columns that repeat the point.
pub(super) static TITLE_COLUMNS: List = List::new(
    "point|points|critique|critic|objection|issue|concern|title|topic|subject|#|punkt|kritik|einwand|thema|objet|sujet|punto|tema|crítica|objeción|\
     ponto|objeção|obiezione|critica|пункт|замечание|тема|возражение|批评|问题|论点|要点|指摘|論点|批評|severity",
);
pub(super) static REASON_COLUMNS: List = List::new("response|change|changed|reason|why|answer|what|action");
pub(super) static ORDINALS: [List; 9] = [
    List::new(
        "first|firstly|first of all|1st|erste|ersten|erster|erstens|premier|première|premièrement|primer|primera|primero|primeiro|primeira|\
     primo|prima|eerste|pierwszy|во-первых|первый|первая|第一|首先|まず|第一に",
    ),
    List::new(
        "second|secondly|2nd|zweite|zweiten|zweiter|zweitens|deuxième|deuxièmement|segundo|segunda|secondo|seconda|tweede|drugi|во-вторых|\
     второй|второе|вторая|第二|其次|次に|第二に",
    ),
    List::new(
        "third|thirdly|3rd|dritte|dritten|dritter|drittens|troisième|troisièmement|tercer|tercero|tercera|terceiro|terceira|terzo|terza|\
     derde|trzeci|в-третьих|третий|третья|第三|再次|再者|さらに|第三に|最后|最後に",
    ),
    List::new(
        "fourth|fourthly|4th|vierte|vierten|viertens|quatrième|cuarto|cuarta|quarto|quarta|четвертый|в-четвертых|в-четвёртых|第四",
    ),
    List::new("fifth|fifthly|5th|fünfte|fünften|fünftens|cinquième|quinto|quinta|пятый|в-пятых|第五"),
    List::new("sixth|6th|sechste|sechstens|sixième|sexto|sexta|sesto|第六"),
    List::new("seventh|7th|siebte|siebtens|septième|séptimo|sétimo|settimo|第七"),
    List::new("eighth|8th|achte|achtens|huitième|octavo|oitavo|ottavo|第八"),
    List::new("finally|lastly|last|zuletzt|schließlich|enfin|finalmente|por último|por fim|infine|наконец|最后|最後に"),
];

/// `text` in lower case, byte for byte in its place.
pub(super) fn lower(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let small = |c: char| c.to_lowercase().next().filter(|small| small.len_utf8() == c.len_utf8()).unwrap_or(c);
    text.chars().map(small).collect()
}

/// Which of the [`ORDINALS`] `text` begins with, where that is one that `counts`, which is given its end.
pub(super) fn ordinal(text: &str, counts: impl Fn(usize) -> bool) -> Option<usize> {
    static BEGINNINGS: LazyLock<Beginnings> = LazyLock::new(|| Beginnings::of_lists(&ORDINALS));
    if !BEGINNINGS.may_begin(text.as_bytes()) {
        return None;
    }
    ORDINALS.iter().position(|list| begins(text, list).is_some_and(|(end, _)| counts(end)))
}

/// Whether a character is of a script that does without spaces between words.
pub(super) fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}')
}

/// Whether a character is one of a word that is set apart by spaces or the like.
pub(super) fn is_letter(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphanumeric() } else { c.is_alphanumeric() && !is_unspaced(c) }
}

/// Where the longest word of `list` ends that `text` begins with, and whether it is an everyday word.
pub(super) fn begins(text: &str, list: &'static List) -> Option<(usize, bool)> {
    let index = list.index();
    if !index.beginnings.may_begin(text.as_bytes()) {
        return None;
    }
    let first = text.chars().next()?;
    let at = index.words.binary_search_by_key(&first, |(first, _)| *first).ok()?;
    let second = text.as_bytes().get(1);
    let fitting = index.words[at].1.iter().filter_map(|word| {
        // Most words differ here already.
        if word.stem.len() > 1 && word.stem.as_bytes().get(1) != second {
            return None;
        }
        let rest = text.strip_prefix(word.stem)?;
        let is_whole = || !rest.starts_with(is_letter) || !word.stem.ends_with(is_letter);
        let left = match word.end {
            End::Letters => rest.trim_start_matches(is_letter),
            End::Word => Some(rest).filter(|_| is_whole())?,
            End::Nothing => Some(rest).filter(|rest| !rest.contains(char::is_alphanumeric))?,
        };
        Some((text.len() - left.len(), word.is_everyday))
    });
    fitting.reduce(|best, next| if next.0 > best.0 { next } else { best })
}

/// Where the words of `text` begin.
pub(super) fn starts(text: &str) -> impl Iterator<Item = usize> {
    let kind = |byte: u8| KINDS.get(usize::from(byte)).copied();
    let (mut inside, mut at) = (false, 0);
    std::iter::from_fn(move || {
        loop {
            let left = text.as_bytes().get(at..)?;
            if inside {
                at += left.iter().take_while(|byte| kind(**byte) == Some(Kind::Letter)).count();
            }
            let (start, byte) = (at, *text.as_bytes().get(at)?);
            let (kind, length) = if let Some(kind) = kind(byte) {
                (kind, 1)
            } else {
                let c = text[at..].chars().next()?;
                (Kind::of(c), c.len_utf8())
            };
            at += length;
            let is_start = kind == Kind::Mark || kind == Kind::Letter && !inside;
            inside = kind == Kind::Letter;
            if is_start {
                return Some(start);
            }
        }
    })
}

/// What a character is to a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Goes on with it, or begins it.
    Letter,
    /// Stands between words.
    Space,
    /// A word by itself.
    Mark,
}

impl Kind {
    fn of(c: char) -> Self {
        match c {
            c if is_letter(c) => Self::Letter,
            c if c.is_whitespace() => Self::Space,
            _ => Self::Mark,
        }
    }
}

/// Those of ASCII: texts are looked through for words many times.
static KINDS: [Kind; 128] = {
    let mut kinds = [Kind::Mark; 128];
    let mut byte: u8 = 0;
    while byte < 128 {
        if byte.is_ascii_alphanumeric() {
            kinds[byte as usize] = Kind::Letter;
        } else if matches!(byte, b' ' | b'\t'..=b'\r') {
            kinds[byte as usize] = Kind::Space;
        }
        byte += 1;
    }
    kinds
};

/// Characters that end a sentence.
pub(super) struct Marks {
    marks: &'static [char],
    /// Which bytes are one, or may begin one.
    bytes: [bool; 256],
}

impl Marks {
    pub(super) const fn new(marks: &'static [char]) -> Self {
        let mut bytes = [false; 256];
        let mut at = 0;
        while at < marks.len() {
            if marks[at].is_ascii() {
                bytes[marks[at] as usize] = true;
            }
            at += 1;
        }
        let mut beyond_ascii = 128;
        while beyond_ascii < bytes.len() {
            bytes[beyond_ascii] = true;
            beyond_ascii += 1;
        }
        Self { marks, bytes }
    }

    /// The sentences of `text`, each with the mark that ends it.
    pub(super) fn sentences<'a>(&'static self, text: &'a str) -> impl Iterator<Item = &'a str> {
        let mut left = text;
        std::iter::from_fn(move || {
            let mut from = 0;
            let end = loop {
                let Some(next) = left.as_bytes()[from..].iter().position(|byte| self.bytes[usize::from(*byte)]) else {
                    break left.len();
                };
                let c = left[from + next..].chars().next()?;
                from += next + c.len_utf8();
                if self.marks.contains(&c) {
                    break from;
                }
            };
            let sentence;
            (sentence, left) = left.split_at(end);
            (!sentence.is_empty()).then_some(sentence)
        })
    }
}

/// The first place of a word of `list`.
pub(super) fn find(text: &str, list: &'static List) -> Option<Range<usize>> {
    starts(text).find_map(|at| begins(&text[at..], list).map(|(length, _)| at..at + length))
}

pub(super) fn has(text: &str, list: &'static List) -> bool {
    find(text, list).is_some()
}

/// The entry of a table whose word is the longest that `text` begins with.
pub(super) fn entry<T: Copy>(text: &str, table: &'static [(T, List)]) -> Option<(T, usize, bool)> {
    let found = table.iter().filter_map(|(value, list)| begins(text, list).map(|(end, weak)| (*value, end, weak)));
    found.reduce(|best, next| if next.1 > best.1 { next } else { best })
}

/// A severity that `text` begins with, and where its word ends.
pub(super) fn grade(text: &str) -> Option<(Grade, usize)> {
    entry(text, &GRADES).map(|(grade, end, _)| (grade, end))
}

/// Whether `text` says nothing besides what such a heading says: `issues (2)`.
pub(super) fn is_filler(text: &str) -> bool {
    let mut rest = text.trim_start_matches(|c: char| !c.is_alphabetic());
    while !rest.is_empty() {
        let Some(end) = begins(rest, &FILLERS).map(|(end, _)| end).or_else(|| grade(rest).map(|(_, end)| end)) else {
            return false;
        };
        rest = rest[end..].trim_start_matches(|c: char| !c.is_alphabetic());
    }
    true
}

impl Verdict {
    pub(super) fn response(self) -> Response {
        match self {
            Self::Yes => Response::Accepted,
            Self::Partly => Response::Partly,
            Self::No => Response::Rejected,
        }
    }

    pub(super) fn standing(self) -> Standing {
        if self == Self::Yes { Standing::Withdrawn } else { Standing::Maintained }
    }
}

/// A verdict in `text`, where its words stand, and whether they are everyday words.
#[derive(Debug, Clone)]
pub(super) struct Hit {
    pub(super) verdict: Verdict,
    pub(super) range: Range<usize>,
    pub(super) weak: bool,
}

/// The verdicts in `text`, with what a negation makes of them. A rejection that is denied says nothing in a response
/// (`I do not reject this`), but ends an objection: `no longer stands`.
pub(super) fn verdicts(text: &str, table: &'static [(Verdict, List)], denied: Option<Verdict>) -> Vec<Hit> {
    let mut hits: Vec<Hit> = Vec::new();
    for at in starts(text) {
        if hits.last().is_some_and(|last| at < last.range.end) {
            continue;
        }
        let Some((verdict, length, weak)) = entry(&text[at..], table) else { continue };
        let mut range = at..at + length;
        // Endings of Japanese and Korean verbs, which may deny.
        let ending = |c: char| matches!(c, '\u{3041}'..='\u{309f}' | '\u{ac00}'..='\u{d7af}');
        let endings: String = text[range.end..].chars().take_while(|c| ending(*c)).take(8).collect();
        range.end += endings.len();
        let (from, half) = negation(&text[..at], &text[range.end..]);
        let turned = from.is_some() || ["ない", "ません", "せず", "않"].iter().any(|no| endings.contains(no));
        range.start = from.unwrap_or(at);
        let verdict = match (verdict, turned) {
            (Verdict::Yes, true) if half => Some(Verdict::Partly),
            (Verdict::Yes, true) => Some(Verdict::No),
            (Verdict::Partly, true) => None,
            (Verdict::No, true) => denied,
            (verdict, false) => Some(verdict),
        };
        let follows = |last: &Hit| text[last.range.end..at].split_whitespace().count() <= 1;
        match (verdict, hits.last_mut()) {
            // `Accepted in part`, `partially accepted`.
            (Some(Verdict::Partly), Some(last)) if last.verdict == Verdict::Yes && follows(last) => {
                *last = Hit { verdict: Verdict::Partly, range: last.range.start..range.end, weak: last.weak && weak };
            }
            (Some(_), Some(last)) if last.verdict == Verdict::Partly && text[last.range.end..at].trim().is_empty() => {
                last.range.end = range.end;
            }
            (Some(verdict), _) => hits.push(Hit { verdict, range, weak }),
            (None, _) => {}
        }
    }
    hits
}

/// Where a negator stands that turns a verdict, in the same clause, and whether it denies the degree only.
fn negation(before: &str, after: &str) -> (Option<usize>, bool) {
    let near = before.char_indices().rev().nth(40).map_or(0, |(at, _)| at);
    let clause = before[near..].rsplit(|c: char| ",;:.()—–\n，。：".contains(c)).next().unwrap_or_default();
    let mut half = false;
    let mut at = before.len();
    for word in clause.split_whitespace().rev().take(3) {
        half |= begins(word, &DEGREES).is_some();
        at = before[..at].rfind(word).unwrap_or(at);
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        if begins(word, &NEGATORS).is_some_and(|(end, _)| end == word.len())
            || word.ends_with("n't")
            || word.ends_with("n’t")
        {
            return (Some(at), half);
        }
    }
    let next = after.split_whitespace().next().unwrap_or_default().trim_matches(['.', ',', ':', ';']);
    let is_behind = after.starts_with(' ') && ["nicht", "niet", "pas"].contains(&next);
    (is_behind.then_some(before.len()), half)
}

/// Whether `text` has any of the words by which a sentence says that there is nothing to object to.
pub(super) fn may_say_none(text: &str) -> bool {
    static BEGINNINGS: LazyLock<Beginnings> = LazyLock::new(|| Beginnings::of_lists(LISTS));
    static LISTS: [&List; 3] = [&NONE, &NOTHING, &WITHOUT];
    let beginnings = &*BEGINNINGS;
    let has_one = |text: &str| LISTS.iter().any(|list| begins(text, list).is_some());
    starts(text).any(|at| beginnings.may_begin(&text.as_bytes()[at..]) && has_one(&text[at..]))
}

/// Whether `text`, a sentence, says that there is nothing to object to.
pub(super) fn says_none(text: &str) -> bool {
    let text = text.trim_matches(|c: char| !c.is_alphanumeric());
    begins(text, &NONE).is_some()
        || starts(text).any(|at| {
            if begins(&text[at..], &NOTHING).is_some() {
                return true;
            }
            let Some((length, _)) = begins(&text[at..], &WITHOUT) else { return false };
            let mut rest = &text[at + length..];
            for _ in 0..6 {
                rest = rest.trim_start_matches(|c: char| c.is_whitespace() || "*_,/".contains(c));
                if begins(rest, &OBJECTIONS).is_some() {
                    return true;
                }
                let Some((end, _)) = begins(rest, &BETWEEN) else { return false };
                rest = &rest[end..];
            }
            false
        })
}

/// Whether `text` says no more than thanks.
pub(super) fn is_courtesy(text: &str) -> bool {
    text.split(['.', ',', ';', '!', ':', '—', '–', '。', '，', '！', '、', '\n']).all(|clause| {
        let clause = clause.trim_matches(|c: char| !c.is_alphanumeric());
        clause.is_empty()
            || begins(clause, &COURTESIES).is_some() && clause.split_whitespace().count() <= 5 && clause.len() <= 40
    })
}
