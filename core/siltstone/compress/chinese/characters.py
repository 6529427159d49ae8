"""Traditional characters read as simplified ones, so that one set of rules serves both scripts.

One character stands for one, so places in the text stay the same, and what is kept is kept as written.
"""

from __future__ import annotations

from typing import Final

_PAIRS: Final = (
    "們们個个這这來来說说時时會会對对為为學学過过還还後后開开沒没問问樣样點点長长現现從从兩两間间裡里麼么見见實实發发經经進进動动種种當当無无應应該该"
    "體体電电車车機机關关氣气請请讓让給给嗎吗認认識识記记錄录買买賣卖讀读書书寫写聽听話话語语談谈論论講讲課课題题師师醫医藥药護护員员輛辆飛飞場场館馆圖图園园"
    "國国際际區区縣县鎮镇鄉乡號号樓楼門门戶户單单雙双親亲爺爷媽妈兒儿孫孙歲岁齡龄愛爱歡欢厭厌討讨惡恶煩烦憂忧慮虑緊紧張张興兴奮奋難难傷伤樂乐貓猫魚鱼鳥鸟馬马"
    "養养寵宠飯饭麵面餐餐廳厅飲饮鹽盐雞鸡鴨鸭豬猪蝦虾漿浆麥麦東东臺台灣湾廣广連连陽阳瀋沈爾尔濱滨鄭郑陝陕慶庆蘇苏揚扬錫锡寧宁溫温紹绍臨临濟济島岛煙烟菸烟漢汉"
    "滬沪粵粤贛赣閩闽遼辽龍龙內内業业務务計计設设編编輯辑導导遊游廚厨銷销營营運运產产總总監监辭辞職职轉转換换離离結结訂订預预約约報报術术檢检查查複复診诊斷断確确"
    "腫肿壓压敏敏視视覺觉齒齿髮发膚肤腎肾畢毕碩硕專专練练習习彈弹鋼钢畫画攝摄籃篮網网騎骑釣钓衝冲終终於于剛刚纔才將将準准備备劃划決决週周歷历鐘钟禮礼節节聖圣誕诞"
    "勞劳童童萬万稱称簡简詳详細细囉啰縮缩別别須须儘尽盡尽錢钱貴贵價价費费稅税資资獎奖薦荐舊旧鬆松鐵铁銀银鏡镜鍵键響响領领頂顶項项顧顾顯显類类馈馈駕驾驗验驚惊"
    "鬧闹鮮鲜麗丽齊齐臉脸腳脚蓋盖頭头腦脑髒脏腸肠韌韧帶带痠酸癢痒暈晕嘔呕瀉泻妳你嚮向嚴严壞坏塊块夢梦婦妇媽妈嫁嫁寶宝屬属幾几幹干廠厂張张徵征慣惯戰战戲戏擔担據据"
    "擇择擊击攜携敗败數数曉晓條条極极樹树樣样橋桥歐欧歲岁殺杀澤泽濃浓灘滩災灾為为爭争牽牵狀状獨独獲获瑪玛甚甚異异療疗瘋疯盤盘眾众睏困礎础禮礼禍祸種种積积穩稳窩窝"
    "筆笔節节範范築筑簽签糧粮約约紅红純纯紙纸級级細细組组絕绝絲丝綠绿維维網网緣缘線线編编緩缓縣县績绩繁繁繳缴續续罰罚羅罗聊聊聯联聰聪膽胆舉举艦舰藝艺蘭兰處处虛虚"
    "號号螞蚂補补裝装複复規规視视覽览觀观訊讯訓训託托訪访設设許许訴诉註注評评詞词試试詩诗該该誌志誠诚誤误誰谁調调諒谅請请論论諸诸諾诺謀谋謝谢證证譯译議议讚赞"
    "貝贝負负財财責责貨货貼贴貿贸賀贺賽赛質质賬账賴赖購购贈赠贏赢趕赶趙赵跡迹踐践車车軍军軟软較较載载輕轻輸输辦办農农遠远適适選选遲迟遺遗還还邊边郵邮鄰邻醬酱"
    "裏里著着隻只乾干佔占曆历釋释針针錯错鍋锅鎖锁鏈链鑰钥閃闪閉闭閒闲閱阅闊阔陣阵陰阴陳陈陸陆隊队隨随險险隱隐雖虽離离雲云零零靈灵靜静順顺頓顿頻频顆颗願愿餅饼餓饿駐驻騙骗髒脏鬥斗魯鲁點点"
)
_TABLE: Final = {ord(old): new for old, new in zip(_PAIRS[::2], _PAIRS[1::2], strict=True) if old != new}


def simplified(text: str) -> str:
    """Return the text with its common traditional characters simplified, of the same length."""
    return text.translate(_TABLE)


def as_written(part: str, plain: str, written: str) -> str:
    """Return a part of a simplified text as the text itself has it; what is no part of it comes back unchanged."""
    place = plain.find(part)
    return written[place : place + len(part)] if place >= 0 else part
