"""The word lists behind the English rules."""

from __future__ import annotations

# What a relation is called, and the attribute that it is.
RELATIONS = {
    word: attribute
    for attribute, words in {
        "spouse": "wife husband spouse",
        "partner": "girlfriend boyfriend fiance fiancee fiancé fiancée partner gf bf",
        "mother": "mother mom mum mommy mama",
        "father": "father dad daddy papa",
        "sister": "sister sis",
        "brother": "brother bro",
        "child": "son daughter kid child baby stepson stepdaughter",
        "grandparent": "grandmother grandfather grandma grandpa granny nana",
        "relative": (
            "aunt uncle cousin niece nephew mother-in-law father-in-law sister-in-law brother-in-law parents"
            " grandparents"
        ),
        "friend": "friend bestie buddy mate",
        "roommate": "roommate flatmate housemate",
        "colleague": "colleague coworker co-worker teammate",
        "neighbour": "neighbour neighbor",
        "boss": "boss manager supervisor",
        "teacher": "teacher coach mentor professor tutor advisor",
        "doctor": "doctor therapist dentist physician",
        "pet": (
            "dog cat puppy kitten parrot hamster rabbit bunny horse turtle tortoise snake lizard guinea-pig"
            " fish bird pup"
        ),
    }.items()
    for word in words.split()
}
PETS = frozenset(word for word, attribute in RELATIONS.items() if attribute == "pet") | frozenset(
    """dogs cats puppies kittens parrots hamsters rabbits horses turtles snakes lizards birds parakeet budgie ferret
    gecko     poodle labrador beagle corgi retriever husky terrier bulldog chihuahua dachshund""".split()
)
CHILDREN = frozenset("kids children sons daughters boys girls".split())
NUMBERS = frozenset("one two three four five six seven eight nine ten no".split())

# The last word of what somebody is by trade.
PROFESSIONS = frozenset(
    """accountant actor actress architect artist astronomer attorney author baker banker barber barista bartender
    biologist blogger bookkeeper builder butcher carpenter cashier ceo cfo chef chemist clerk coach comedian composer
    consultant contractor cook counselor
    counsellor cto curator dancer dentist designer detective developer dietitian director doctor driver drummer
    economist editor educator electrician engineer entrepreneur farmer filmmaker firefighter florist founder
    freelancer
    gardener geologist guitarist hairdresser historian illustrator influencer intern interpreter investor
    janitor jeweler jeweller
    journalist judge lawyer lecturer librarian lifeguard linguist locksmith manager marketer mathematician
    mechanic midwife
    minister model mortician musician nanny neurologist novelist nurse nutritionist officer optician painter
    paralegal paramedic pastor
    pediatrician pharmacist philosopher photographer physicist physician physiotherapist pianist pilot plumber
    podcaster poet policeman
    policewoman politician postman potter president principal priest producer professor programmer psychiatrist
    psychologist
    radiologist realtor receptionist recruiter reporter researcher retiree sailor salesperson scientist sculptor
    secretary singer
    socialworker software soldier statistician stylist surgeon surveyor tailor teacher technician therapist
    trainer translator
    tutor veterinarian vet videographer violinist waiter waitress welder writer analyst administrator strategist
    coordinator specialist
    supervisor executive tester devops copywriter landlord pensioner housewife homemaker worker""".split()
)
STUDENTS = frozenset("student undergraduate undergrad freshman sophomore postgraduate postgrad".split())
NATIONALITIES = frozenset(
    """afghan albanian algerian american argentine argentinian armenian australian austrian bangladeshi belarusian
belgian bolivian
    brazilian british bulgarian cambodian cameroonian canadian chilean chinese colombian croatian cuban czech
    danish dominican
    dutch ecuadorian egyptian english estonian ethiopian filipino finnish french georgian german ghanaian greek
    guatemalan
    haitian hungarian icelandic indian indonesian iranian iraqi irish israeli italian jamaican japanese
    jordanian kazakh kenyan
    korean kurdish latvian lebanese libyan lithuanian malaysian mexican moroccan nepali nigerian norwegian
    pakistani palestinian peruvian
    polish portuguese romanian russian saudi scottish senegalese serbian singaporean slovak slovenian somali spanish
    sudanese swedish swiss syrian taiwanese thai tunisian turkish ugandan ukrainian uruguayan venezuelan
    vietnamese welsh
    zimbabwean""".split()
)
LANGUAGES = NATIONALITIES | frozenset(
    """arabic bengali cantonese catalan esperanto farsi gaelic hebrew hindi latin malay mandarin marathi persian
punjabi sanskrit
    swahili tagalog tamil telugu urdu yiddish yoruba zulu basque amharic afrikaans asl""".split()
)
PROGRAMMING = frozenset(
    """python rust java javascript typescript go golang c c++ c# ruby php swift kotlin scala haskell perl r sql html
css react vue angular
    django flask docker kubernetes aws linux excel photoshop matlab julia elixir erlang clojure lua bash git
    terraform node""".split()
)
DIETS = frozenset(
    """vegan vegetarian pescatarian pescetarian gluten-free keto paleo halal kosher lactose-intolerant omnivore
flexitarian dairy-free
    plant-based low-carb""".split()
)
STATUSES = frozenset("single married engaged divorced widowed separated".split())
CONDITIONS = frozenset(
    """asthma diabetes arthritis anxiety depression adhd autism epilepsy migraines migraine hypertension celiac
insomnia eczema
    anemia anaemia psoriasis cancer scoliosis tinnitus dyslexia endometriosis ptsd ocd vertigo ibs gerd lupus glaucoma
    hypothyroidism fibromyalgia osteoporosis hemophilia bronchitis sciatica dyspraxia narcolepsy bipolar""".split()
)
# What "I have a ..." owns when its last word is one of these.
POSSESSIONS = frozenset(
    """car cars bike bicycle motorcycle motorbike scooter truck van suv boat house apartment flat condo cabin cottage
farm garden piano guitar
    violin ukulele drums laptop computer pc desktop macbook iphone phone tablet ipad camera drone telescope tv
    television console playstation xbox
    switch kindle watch printer garage pool treadmill bakery shop store restaurant business company tent kayak
    canoe surfboard snowboard
    tesla toyota honda ford bmw volvo audi mercedes subaru mazda hyundai kia prius jeep nissan volkswagen
    porsche ferrari
    subscription membership collection greenhouse tattoo tattoos""".split()
)
# How notes about a user are written: "Prefers tea." "The user lives in Oslo."
THIRD_PERSON = {
    "likes": "like",
    "loves": "love",
    "hates": "hate",
    "enjoys": "enjoy",
    "adores": "adore",
    "dislikes": "dislike",
    "despises": "despise",
    "prefers": "prefer",
    "avoids": "avoid",
    "refuses": "refuse",
    "owns": "own",
    "knows": "know",
    "plays": "play",
    "drives": "drive",
    "wants": "want",
    "plans": "plan",
    "intends": "intend",
    "hopes": "hope",
    "goes": "go",
}
PLACE_NOUNS = frozenset(
    """town city village suburb suburbs countryside apartment flat house condo cabin studio farm farmhouse dorm
dormitory neighbourhood
    neighborhood mountains coast island area province state downtown ranch cottage townhouse bungalow penthouse
    building trailer houseboat
    basement loft""".split()
)
# What one lives in, wherever it stands: no other place than the town that is known.
DWELLINGS = frozenset(
    """apartment flat house condo studio dorm dormitory cottage townhouse bungalow penthouse trailer houseboat basement
    loft cabin""".split()
)
# After "live in" or "from" these are no places.
NOT_PLACES = frozenset(
    """fear peace denial hope pain hell paradise luxury poverty a an the my your his her their our this that these here
there it them me
    danger sin harmony constant different another time day school work home scratch now then what where
    experience someone
    everyone anyone something""".split()
)
EVENTS = frozenset(
    """wedding flight appointment interview exam test meeting surgery operation graduation party trip launch release
presentation conference
    anniversary concert visit demo review ceremony vacation holiday performance recital race marathon game match
    tournament
    workshop class lesson session checkup check-up move standup kickoff kick-off retrospective sprint hearing trial
    defense defence viva baptism funeral birthday-party show exhibition event audition competition retreat
    reunion festival
    webinar call date date-night dinner lunch screening""".split()
)
# What somebody wants or is going to do that is more than a request or the next step of the talk.
UNDERTAKINGS = (
    r"learn|be\san?\s|become|travel|visit|buy|sell|adopt|move|study|retire|quit|earn|save|master|publish"
    r"|volunteer|graduate|marry|emigrate|relocate"
    r"|run\s(?:a|the|my)|write\s(?:a|my)\s(?:book|novel|memoir)|get\s(?:a\s(?:dog|cat|job|degree"
    r"|tattoo|promotion|new)|married|better\sat|in\sshape|certified|back\sinto)"
    r"|lose\s(?:\d|weight)|start\s(?:a|my|learning|running|cooking|taking)|open\s(?:a|my)|build\s(?:a"
    r"|my)\s(?:house|business|career|cabin)|go\sto\s[A-Z]|take\s(?:a\s)?(?:trip|class|classes|lessons"
    r"|course)"
    r"|have\s(?:a\s)?(?:kids|children|baby)|apply\s(?:to|for)|hike|climb|attend|join|renovate"
)
PAST = frozenset(
    """went ran met saw bought got started finished joined attended took visited adopted had made won lost passed
signed flew drove hiked
    completed gave hosted celebrated participated volunteered launched opened graduated came ate wrote read swam
    rode taught began broke built
    caught chose fell felt found flew held kept left paid played sang sold sent spoke spent threw watched wore
    applied baked camped climbed
    cooked danced donated drew enrolled explored painted performed planted presented published ran received registered
    submitted tried travelled traveled upgraded walked received interviewed booked planned organized
    organised""".split()
)
# What is said of as "my ...", and the attribute that it is.
MINE = {
    "name": "name",
    "full name": "name",
    "first name": "name",
    "nickname": "preferred_name",
    "preferred name": "preferred_name",
    "birthday": "birthday",
    "date of birth": "birthday",
    "hometown": "from",
    "home town": "from",
    "native language": "speaks",
    "first language": "speaks",
    "mother tongue": "speaks",
    "major": "studies",
    "job": "job",
    "occupation": "job",
    "profession": "job",
    "job title": "job",
    "current job": "job",
    "pronouns": "pronouns",
    "preferred pronouns": "pronouns",
    "nationality": "nationality",
    "time zone": "timezone",
    "timezone": "timezone",
    "employer": "employer",
    "age": "age",
    "height": "height",
    "weight": "weight",
    "email": "email",
    "email address": "email",
    "phone": "phone",
    "phone number": "phone",
    "number": "phone",
    "mobile number": "phone",
    "hobby": "hobby",
    "hobbies": "hobby",
    "salary": "salary",
    "gender": "gender",
    "home city": "lives_in",
    "diet": "diet",
    "work email": "email:work",
    "personal email": "email:personal",
}
